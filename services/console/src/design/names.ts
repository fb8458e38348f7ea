/**
 * Names of addresses: those of the chain's own accounts, and those that a reader gives, which are
 * kept in this browser and sent to nobody.
 */
import { useSyncExternalStore } from 'react';
import { storeOf } from '../browser.ts';

const KEY = 'names';
export const NAME_CHARACTERS_MAX = 40;
const NAMES_MAX = 500;
const STORE = storeOf('localStorage');
const listeners = new Set<() => void>();

/** By address, the oldest first. Anything may be in the store: other versions write to it too. */
export function namesIn(text: string | null): ReadonlyMap<string, string> {
  let entries: unknown;
  try {
    entries = JSON.parse(text ?? '[]');
  } catch {
    return new Map();
  }
  const names = (Array.isArray(entries) ? entries : []).filter(
    (entry): entry is [string, string] =>
      Array.isArray(entry) && typeof entry[0] === 'string' && typeof entry[1] === 'string',
  );
  return new Map(names);
}

/** The names with this one; an empty one is removed, and the oldest give way. */
export function withName(
  names: ReadonlyMap<string, string>,
  address: string,
  given: string,
): ReadonlyMap<string, string> {
  const name = Array.from(given.replaceAll(/[\p{C}\s]+/gu, ' ').trim())
    .slice(0, NAME_CHARACTERS_MAX)
    .join('');
  const others = [...names].filter(([each]) => each !== address);
  return new Map(name === '' ? others : [...others, [address, name] as const].slice(-NAMES_MAX));
}

export interface Name {
  readonly name: string;
  /** whether the reader gave it */
  readonly is_own: boolean;
}

let own = namesIn(STORE.getItem(KEY));
let known: Readonly<Record<string, string>> = {};
let all: ReadonlyMap<string, Name> = named();

function named(): ReadonlyMap<string, Name> {
  return new Map<string, Name>([
    ...Object.entries(known).map(([address, name]) => [address, { name, is_own: false }] as const),
    ...[...own].map(([address, name]) => [address, { name, is_own: true }] as const),
  ]);
}

function changed(): void {
  all = named();
  for (const each of listeners) each();
}

/** Takes the names of accounts of the chain itself; those that a reader gives come first. */
export function learnNames(of: Readonly<Record<string, string>>): void {
  known = of;
  changed();
}

// another tab
addEventListener('storage', ({ key }) => {
  if (key !== KEY) return;
  own = namesIn(STORE.getItem(KEY));
  changed();
});

/** An empty name is removed. */
export function nameAddress(address: string, name: string): void {
  own = withName(own, address, name);
  STORE.setItem(KEY, JSON.stringify([...own]));
  changed();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/** By address, those that are known now. */
export function allNames(): ReadonlyMap<string, Name> {
  return all;
}

export function useName(address: string): Name | undefined {
  return useSyncExternalStore(subscribe, () => all.get(address));
}
