/** Light or dark: as the system says, or as the reader chose in this browser. */
import { useSyncExternalStore } from 'react';
import { storeOf } from '../browser.ts';

export const SCHEMES = ['system', 'light', 'dark'] as const;
export type Scheme = (typeof SCHEMES)[number];

const KEY = 'scheme';
const IS_DARK = '(prefers-color-scheme: dark)';
const system = matchMedia(IS_DARK);
const listeners = new Set<() => void>();

/** All rules of the style sheets. */
export function styleRules(): readonly CSSRule[] {
  return [...document.styleSheets].flatMap((sheet) => Array.from(sheet.cssRules));
}

/** Rules that hold in dark alone. */
const rules = styleRules().filter(
  (rule): rule is CSSMediaRule =>
    rule instanceof CSSMediaRule && rule.conditionText.includes('prefers-color-scheme'),
);
const STORE = storeOf('localStorage');
let chosen: Scheme = SCHEMES.find((each) => each === STORE.getItem(KEY)) ?? 'system';

function apply(): void {
  const media = { system: IS_DARK, light: 'not all', dark: 'all' };
  for (const rule of rules) rule.media.mediaText = media[chosen];
  document.documentElement.style.colorScheme = chosen === 'system' ? '' : chosen;
}

export function choose(scheme: Scheme): void {
  chosen = scheme;
  STORE.setItem(KEY, scheme);
  apply();
  for (const each of listeners) each();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  system.addEventListener('change', listener);
  return () => {
    listeners.delete(listener);
    system.removeEventListener('change', listener);
  };
}

export function useScheme(): Scheme {
  return useSyncExternalStore(subscribe, () => chosen);
}

/** The value of a custom property of `tokens.css` now. */
export function colorOf(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** True in dark, whoever chose it: for parts that draw with colours of their own. */
export function useIsDark(): boolean {
  return useSyncExternalStore(subscribe, () =>
    chosen === 'system' ? system.matches : chosen === 'dark',
  );
}

apply();
