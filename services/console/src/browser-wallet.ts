/** The wallet that an extension of the browser offers to the page (EIP-1193). */
import type { Eip1193Provider } from '../../../packages/wallet/src/index.ts';

declare global {
  interface Window {
    readonly ethereum?: Eip1193Provider;
  }
}

export function browserWallet(): Eip1193Provider | undefined {
  return window.ethereum;
}

/** Wallets throw objects that are no errors. */
export function messageOf(error: unknown): string {
  if (typeof error !== 'object' || error === null) return String(error);
  const message: unknown = Reflect.get(error, 'shortMessage') ?? Reflect.get(error, 'message');
  return typeof message === 'string' ? message : JSON.stringify(error);
}
