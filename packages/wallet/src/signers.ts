/** Signers: keys and services sign digests, browser wallets sign messages only. */
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { concatBytes } from '@noble/hashes/utils.js';
import { fromHex, keccak256, toHex, utf8, type Hex } from './bytes.ts';
import { addressOf, signedBy, type Signature, type SignatureLike } from './signature.ts';

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
  const signDigest = async (digest: Uint8Array): Promise<Signature> =>
    signedBy(account, [digest], await sign(digest));
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
 * of TIP-191 (signMessageV2 of TRON). Each signature is checked: wallets sign with the account that
 * is chosen in them at that moment. It signs in; a transaction's digest it cannot sign.
 */
export function messageSigner(
  address: string,
  sign: (text: string) => SignatureLike | Promise<SignatureLike>,
): MessageSigner {
  const account = readAddress(address);
  return {
    address: account,
    signMessage: async (text) => signedBy(account, prefixedDigests(text), await sign(text)),
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
  const first = await signText(signer, text);
  const again = await signText(signer, text);
  if (first.r !== again.r || first.s !== again.s)
    throw new Error('the wallet signs the same text differently each time: no key comes from it');
  return toHex(keccak256(concatBytes(fromHex(first.r), fromHex(first.s))));
}

/** At most 255 bytes: there are signing devices that leave out what comes after those. */
function keyText(chainId: number, address: string): string {
  return `This signature is the private key of a CLT account: anybody who has it can spend all CLT there. Sign this only on a site that you trust.

chain: ${chainId}
wallet: ${address}`;
}

/** The signature of a signer that may be an app's own, checked. */
export async function signText(signer: MessageSigner, text: string): Promise<Signature> {
  const digests = [messageDigest(text), ...prefixedDigests(text)];
  return signedBy(signer.address, digests, await signer.signMessage(text));
}

/** The digest that the key of a `Signer` signs for a text: the hash of the hex of its hash. */
export function messageDigest(text: string): Uint8Array {
  return keccak256(utf8(toHex(keccak256(utf8(text))).slice(2)));
}

/** The digests that EIP-191 and TIP-191 have signed for a text. */
function prefixedDigests(text: string): readonly Uint8Array[] {
  const message = utf8(text);
  return ['Ethereum', 'TRON'].map((network) =>
    keccak256(concatBytes(utf8(`\u0019${network} Signed Message:\n${message.length}`), message)),
  );
}

function readAddress(address: string): string {
  const account = address.toLowerCase();
  if (!ADDRESS.test(account)) throw new TypeError('an address must be 0x and 40 hex digits');
  return account;
}
