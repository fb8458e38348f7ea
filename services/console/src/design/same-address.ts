/** Marks an address in all its places while one of them is pointed at or has the focus. */

/** The one rule of the style sheets about it, whose selector names the address. */
function ruleOfAddress(): CSSStyleRule | undefined {
  return Array.from(document.styleSheets)
    .flatMap((sheet) => Array.from(sheet.cssRules))
    .find(
      (rule): rule is CSSStyleRule =>
        rule instanceof CSSStyleRule && rule.selectorText.includes('data-address'),
    );
}

const ADDRESS = /^0x[0-9a-f]{40}$/;

export function markSameAddresses(): void {
  const rule = ruleOfAddress();
  if (rule === undefined) return;
  const mark = ({ type, target }: Event): void => {
    const place = target instanceof Element ? target.closest('[data-address]') : null;
    const address = type === 'focusout' ? '' : (place?.getAttribute('data-address') ?? '');
    const selector = `[data-address="${ADDRESS.test(address) ? address : ''}"]`;
    if (rule.selectorText !== selector) rule.selectorText = selector;
  };
  for (const type of ['pointerover', 'focusin', 'focusout']) document.addEventListener(type, mark);
}
