/** The shape of a state: as a light on a page, and on the icon of its tab. */
import { useEffect, type ReactElement } from 'react';
import icon from './icon.svg';
import { ICON, SHAPES, type Mark } from './mark.ts';

export function Lamp({ of }: { readonly of: Mark }): ReactElement {
  const { ground, sign } = SHAPES[of];
  return (
    <svg className={`lamp ${of}`} viewBox="0 0 16 16" aria-hidden>
      <path d={ground} fill="currentColor" />
      <path d={sign} />
    </svg>
  );
}

function iconWith(mark: Mark): string {
  const { ground, sign, color } = SHAPES[mark];
  const shape = `<g transform="translate(13 13) scale(1.19)" stroke="#fff" stroke-width="2" stroke-linejoin="round"><path d="${ground}" fill="${color}"/><path d="${sign}" fill="none"/></g>`;
  return `data:image/svg+xml,${encodeURIComponent(ICON.replace('</svg>', `${shape}</svg>`))}`;
}

/** The icon of the tab while the calling component is shown; undefined: the plain one. */
export function useMark(mark: Mark | undefined): void {
  useEffect(() => {
    const link = document.querySelector<HTMLLinkElement>('link[rel=icon]');
    if (link === null || mark === undefined) return;
    link.href = iconWith(mark);
    return () => void (link.href = icon);
  }, [mark]);
}
