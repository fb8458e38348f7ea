import type { Eip1193Provider } from '../../../packages/wallet/src/index.ts';

declare global {
  interface Window {
    /** of a browser wallet */
    readonly ethereum?: Eip1193Provider;
  }
}
