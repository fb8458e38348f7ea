/** Keys of the devnet's own accounts, derived from its seed. */
import { SigningKey, computeAddress, id } from 'ethers';
import type { FunctionCall } from '../../../schemas/function-call.ts';
import { encodeRaw, unsignedDigest } from '../../../schemas/raw-transaction.ts';

export interface Key {
  readonly address: string;
  readonly signing_key: SigningKey;
}

/** By private key: a key takes half a millisecond, and tests start hundreds of devnets. */
const keys = new Map<string, Key>();

/** Deterministic: the same seed and name give the same key. */
export function deriveKey(seed: string, name: string): Key {
  const privateKey = id(`clt-devnet:${seed}:${name}`);
  const known = keys.get(privateKey);
  if (known !== undefined) return known;
  const signing_key = new SigningKey(privateKey);
  const key = { address: computeAddress(signing_key).toLowerCase(), signing_key };
  keys.set(privateKey, key);
  return key;
}

export function deriveKeys(seed: string, name: string, count: number): readonly Key[] {
  return Array.from({ length: count }, (_, index) => deriveKey(seed, `${name}-${index}`));
}

/** The only key that may mint; the treasury signs with it. */
export function mintAuthorityKey(seed: string): Key {
  return deriveKey(seed, 'mint-authority');
}

/** The raw bytes of a signed transaction. */
export function signCall(key: Key, chainId: number, nonce: number, call: FunctionCall): Uint8Array {
  const unsigned = { chain_id: chainId, nonce, call };
  const { r, s, v } = key.signing_key.sign(unsignedDigest(unsigned));
  return encodeRaw({ ...unsigned, signature: { r, s, v } });
}
