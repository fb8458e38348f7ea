/** See docs/wallets.md for the bytes, and README.md of this package for a walk through it. */
export { toHex, type Hex } from './bytes.ts';
export { ask, challenge, HubError, send, signIn, type Hub, type Session } from './hub.ts';
export { waitForOutcome, type Outcome, type Waiting } from './outcome.ts';
export type { Signature, SignatureLike } from './signature.ts';
export {
  browserSigner,
  derivePrivateKey,
  digestSigner,
  messageDigest,
  messageSigner,
  privateKeySigner,
  randomPrivateKey,
  type Eip1193Provider,
  type MessageSigner,
  type Signer,
} from './signers.ts';
export { socketClient, type SocketOptions } from './socket.ts';
export {
  signTransaction,
  unsignedBytes,
  unsignedDigest,
  type SignedTransaction,
  type UnsignedTransaction,
} from './transaction.ts';
