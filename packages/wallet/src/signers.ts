/** Signers: keys and services sign digests, browser wallets sign messages only. */
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { concatBytes } from '@noble/hashes/utils.js';
import { fromHex, keccak256, toHex, utf8, type Hex } from './bytes.ts';
import { readSignature, type Signature, type SignatureLike } from './signature.ts';

/** Signs in. */
export interface MessageSigner {
  /** 0x + lower-case hex */
  readonly address: string;
  readonly signMessage: (text: string) => Promise<Signature>;
}

/** Signs in and signs transactions. */
export interface Signer extends MessageSigner {
  /** Signs the 32 bytes as they are, with no prefix and no further hash. */
  readonly signDigest: (digest: Uint8Array) => Promise<Signature>;
}

/** The part of EIP-1193 that is used. */
export interface Eip1193Provider {
  request(call: { readonly method: string; readonly params?: unknown[] }): Promise<unknown>;
}

const ADDRESS = /^0x[0-9a-f]{40}$/;

/**
 * A signer by a function that signs 32 bytes as they are. Each signature is checked: one by another
 * key than that of the address is an error.
 */
export function digestSigner(
  address: string,
  sign: (digest: Uint8Array) => SignatureLike | Promise<SignatureLike>,
): Signer {
  const account = readAddress(address);
  const signDigest = async (digest: Uint8Array): Promise<Signature> => {
    const signature = readSignature(await sign(digest)).find(
      (each) => signerOf(digest, each) === account,
    );
    if (signature === undefined) throw new Error(`the signature is not by the key of ${account}`);
    return signature;
  };
  return {
    address: account,
    signDigest,
    signMessage: (text) => signDigest(messageDigest(text)),
  };
}

/** A signer by a private key: 32 bytes, or 64 hex digits with or without 0x. */
export function privateKeySigner(privateKey: string | Uint8Array): Signer {
  const key = typeof privateKey === 'string' ? fromHex(privateKey) : privateKey;
  const address = addressOf(secp256k1.getPublicKey(key, false));
  return digestSigner(address, (digest) => {
    const [recovery = 0, ...scalars] = secp256k1.sign(digest, key, {
      prehash: false,
      format: 'recovered',
    });
    return toHex(Uint8Array.of(...scalars, recovery));
  });
}

/**
 * A signer by a wallet's function that signs a text with the prefix of EIP-191 (personal_sign) or
 * of TIP-191 (signMessageV2 of TRON). It signs in; a transaction's digest it cannot sign.
 */
export function messageSigner(
  address: string,
  sign: (text: string) => SignatureLike | Promise<SignatureLike>,
): MessageSigner {
  const account = readAddress(address);
  return {
    address: account,
    signMessage: async (text) => readSignature(await sign(text))[0],
  };
}

/** A signer by a browser wallet, which asks the person to connect an account if none is. */
export async function browserSigner(provider: Eip1193Provider): Promise<MessageSigner> {
  const accounts = await provider.request({ method: 'eth_requestAccounts' });
  const account: unknown = Array.isArray(accounts) ? accounts[0] : undefined;
  if (typeof account !== 'string') throw new Error('the wallet has connected no account');
  return messageSigner(account, async (text) => {
    const params = [toHex(utf8(text)), account];
    const signature = await provider.request({ method: 'personal_sign', params });
    if (typeof signature !== 'string') throw new TypeError('the wallet gave no signature');
    return signature;
  });
}

/** A random private key. */
export function randomPrivateKey(): Hex {
  return toHex(secp256k1.utils.randomSecretKey());
}

/**
 * The private key of a CLT account that belongs to a wallet which signs messages only: the same
 * wallet gives the same key again, on any device. The wallet's signature of this text is the key,
 * so nobody else may get it. The wallet signs twice: a key from a signature that changes would be
 * lost.
 */
export async function derivePrivateKey(chainId: number, signer: MessageSigner): Promise<Hex> {
  const text = keyText(chainId, signer.address);
  const first = await signer.signMessage(text);
  const again = await signer.signMessage(text);
  if (first.r !== again.r || first.s !== again.s)
    throw new Error('the wallet signs the same text differently each time: no key comes from it');
  return toHex(keccak256(concatBytes(fromHex(first.r), fromHex(first.s))));
}

function keyText(chainId: number, address: string): string {
  return `This signature is the private key of a CLT account.

Anybody who has this signature can spend all CLT of that account. Sign this text only on a site that you trust with your CLT, and never give the signature to anybody.

chain: ${chainId}
wallet: ${address}`;
}

/** The digest that the key of a `Signer` signs for a text: the hash of the hex of its hash. */
export function messageDigest(text: string): Uint8Array {
  return keccak256(utf8(toHex(keccak256(utf8(text))).slice(2)));
}

function readAddress(address: string): string {
  const account = address.toLowerCase();
  if (!ADDRESS.test(account)) throw new TypeError('an address must be 0x and 40 hex digits');
  return account;
}

function signerOf(digest: Uint8Array, { r, s, v }: Signature): string | undefined {
  try {
    const signature = new secp256k1.Signature(BigInt(r), BigInt(s), v - 27);
    return addressOf(signature.recoverPublicKey(digest).toBytes(false));
  } catch {
    // r is on no point of the curve, or a number is out of range
    return undefined;
  }
}

/** The last 20 bytes of the hash of a key's 64 bytes, without its first byte 04. */
function addressOf(publicKey: Uint8Array): string {
  return toHex(keccak256(publicKey.subarray(1)).subarray(12));
}
