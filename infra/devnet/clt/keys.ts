/** Keys of the devnet's own accounts, all derived from one seed. They are worth nothing anywhere else. */
import { SigningKey, computeAddress, id } from 'ethers';
import { toHex } from '../../../schemas/address.ts';
import type { FunctionCall } from '../../../schemas/function-call.ts';
import { encodeRaw, unsignedDigest } from '../../../schemas/raw-transaction.ts';

export interface Key {
  readonly address: string;
  readonly signing_key: SigningKey;
}

/** The key of that name; the same seed and name always give the same key. */
export function keyOf(seed: string, name: string): Key {
  const signingKey = new SigningKey(id(`clt-devnet:${seed}:${name}`));
  return { address: computeAddress(signingKey).toLowerCase(), signing_key: signingKey };
}

export function keysOf(seed: string, name: string, count: number): readonly Key[] {
  return Array.from({ length: count }, (_, index) => keyOf(seed, `${name}-${index}`));
}

/** The only key that may mint: the treasury's on the devnet. */
export function mintAuthorityKey(seed: string): Key {
  return keyOf(seed, 'mint-authority');
}

/** Raw bytes of the call, signed. */
export function signCall(key: Key, chainId: number, nonce: number, call: FunctionCall): Uint8Array {
  const unsigned = { chain_id: chainId, nonce, call };
  const { r, s, v } = key.signing_key.sign(unsignedDigest(unsigned));
  return encodeRaw({ ...unsigned, signature: { r, s, v } });
}

/** The same as the hex text that the node takes. */
export function signCallText(key: Key, chainId: number, nonce: number, call: FunctionCall): string {
  return toHex(signCall(key, chainId, nonce, call));
}
