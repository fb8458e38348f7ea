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
