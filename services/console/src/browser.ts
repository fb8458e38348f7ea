/** Interfaces of the browser that it may refuse, or not have. */
import type { Eip1193Provider } from '../../../packages/wallet/src/index.ts';

declare global {
  interface Window {
    /** the wallet that an extension offers to the page (EIP-1193) */
    readonly ethereum?: Eip1193Provider;
  }
}

/** Wallets throw objects that are no errors. */
export function messageOf(error: unknown): string {
  if (typeof error !== 'object' || error === null) return String(error);
  const message: unknown = Reflect.get(error, 'shortMessage') ?? Reflect.get(error, 'message');
  return typeof message === 'string' ? message : JSON.stringify(error);
}

/** The text that a field of the form holds, without spaces around it. */
export function entered(form: HTMLFormElement, name: string): string {
  const value = new FormData(form).get(name);
  return typeof value === 'string' ? value.trim() : '';
}

/** The texts of those of the fields that hold one, by their names. */
export function enteredOf(
  form: HTMLFormElement,
  names: readonly string[],
): Readonly<Record<string, string>> {
  const texts = names.map((name) => [name, entered(form, name)] as const);
  return Object.fromEntries(texts.filter(([, text]) => text !== ''));
}

/** Whether the clipboard has the text now. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // there is none outside of https and localhost, and a person may refuse it
    return copySelected(text);
  }
}

/** The way of older browsers, which needs no permission. */
function copySelected(text: string): boolean {
  const before = document.activeElement;
  const field = document.createElement('textarea');
  field.value = text;
  field.style.position = 'fixed';
  document.body.append(field);
  field.select();
  try {
    return document.execCommand('copy');
  } finally {
    field.remove();
    if (before instanceof HTMLElement) before.focus();
  }
}

/** Keeps the screen on while the page is seen, where the browser has that; returns how to stop. */
export function keepAwake(): () => void {
  const stop = new AbortController();
  const ask = async (): Promise<void> => {
    if (document.visibilityState !== 'visible') return;
    try {
      const lock = await navigator.wakeLock.request('screen');
      if (stop.signal.aborted) await lock.release();
      else stop.signal.addEventListener('abort', () => void lock.release());
    } catch {
      // there is none outside of https and localhost, or it refuses: the screen may go dark
    }
  };
  // the browser takes the lock away when the page is hidden
  document.addEventListener('visibilitychange', () => void ask(), { signal: stop.signal });
  void ask();
  return () => stop.abort();
}

/**
 * Ends when what the page has changed so far is shown; at once if nobody sees the page. One that is
 * hidden in between goes on when it is seen again.
 */
export function painted(): Promise<void> {
  if (document.visibilityState !== 'visible') return Promise.resolve();
  return new Promise((resolve) => {
    requestAnimationFrame(() => setTimeout(resolve));
  });
}

/** A place for texts that outlive the page; where the browser refuses one, they end with it. */
export function storeOf(
  name: 'localStorage' | 'sessionStorage',
): Pick<Storage, 'getItem' | 'setItem' | 'removeItem'> {
  try {
    const store = window[name];
    // some refuse only to write
    store.setItem('clt-probe', '');
    store.removeItem('clt-probe');
    return store;
  } catch {
    const texts = new Map<string, string>();
    return {
      getItem: (key) => texts.get(key) ?? null,
      setItem: (key, text) => void texts.set(key, text),
      removeItem: (key) => void texts.delete(key),
    };
  }
}
