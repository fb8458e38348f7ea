/** Earlier finds of the search box, in this browser alone. */
import { storeOf } from '../browser.ts';
import type { Hit } from './typed.ts';

const KEY = 'searched';
const KEPT = 6;
const STORE = storeOf('localStorage');

/** Newest first. */
export function recentHits(): readonly Hit[] {
  try {
    const kept: unknown = JSON.parse(STORE.getItem(KEY) ?? '[]');
    return Array.isArray(kept) ? kept.filter(isHit).slice(0, KEPT) : [];
  } catch {
    return [];
  }
}

export function remember(hit: Hit): void {
  const others = recentHits().filter(
    ({ kind, identifier }) => kind !== hit.kind || identifier !== hit.identifier,
  );
  STORE.setItem(KEY, JSON.stringify([hit, ...others].slice(0, KEPT)));
}

export function forget(): void {
  STORE.removeItem(KEY);
}

/** Another version, or a person, may have written there. */
function isHit(value: unknown): value is Hit {
  return (
    typeof value === 'object' &&
    value !== null &&
    typeof Reflect.get(value, 'kind') === 'string' &&
    typeof Reflect.get(value, 'identifier') === 'string'
  );
}
