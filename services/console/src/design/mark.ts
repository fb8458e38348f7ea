/** A state as color and shape. */
export type Mark = 'good' | 'warn' | 'bad';

/** A ground, and a sign on it, in 16 by 16 units; the color is that of an icon. */
export const SHAPES: Readonly<Record<Mark, { ground: string; sign: string; color: string }>> = {
  good: {
    ground: 'M8 1a7 7 0 100 14A7 7 0 008 1z',
    sign: 'M4.7 8.3l2.3 2.3 4.3-4.8',
    color: '#1f9d55',
  },
  warn: { ground: 'M8 1l7.5 14H.5z', sign: 'M8 6v4.2M8 12.2v.9', color: '#b86e00' },
  bad: { ground: 'M1.5 1.5h13v13h-13z', sign: 'M5 5l6 6M11 5l-6 6', color: '#d3261c' },
};

/** The text of `icon.svg`, onto which a shape is drawn. */
export const ICON = [
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">',
  '<rect width="32" height="32" rx="7" fill="#0f6b5c" />',
  '<path d="M21 11.5a6.5 6.5 0 1 0 0 9" fill="none" stroke="#fff" stroke-width="3.2" stroke-linecap="round" />',
  '</svg>',
].join('');
