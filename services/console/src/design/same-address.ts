/** Marks an address in all its places while one of them is pointed at or has the focus. */
import { styleRules } from './scheme.ts';

const ADDRESS = /^0x[0-9a-f]{40}$/;

export function markSameAddresses(): void {
  // the one whose selector names the address
  const rule = styleRules().find(
    (each): each is CSSStyleRule =>
      each instanceof CSSStyleRule && each.selectorText.includes('data-address'),
  );
  if (rule === undefined) return;
  const mark = ({ type, target }: Event): void => {
    const place = target instanceof Element ? target.closest('[data-address]') : null;
    const address = type === 'focusout' ? '' : (place?.getAttribute('data-address') ?? '');
    const selector = `[data-address="${ADDRESS.test(address) ? address : ''}"]`;
    if (rule.selectorText !== selector) rule.selectorText = selector;
  };
  for (const type of ['pointerover', 'focusin', 'focusout']) document.addEventListener(type, mark);
}
