/**
 * Watch-only deposit addresses: the children of an extended public key at m/44'/195'/0'/0 (BIP-32,
 * BIP-44, coin 195). It cannot spend. Extended private keys are refused.
 */
import {
  decodeBase58,
  getBytes,
  HDNodeVoidWallet,
  HDNodeWallet,
  sha256,
  toBeHex,
  toUtf8Bytes,
} from 'ethers';
import { keptBytes } from './address.ts';

/** The name of this derivation scheme in the log. */
export const SCHEME = 'hd';

/** The depth of the key: m / purpose / coin / account / change. */
const DEPTH = 4;
const KEY_BYTES = 78;
const CHECKSUM_BYTES = 4;
const PUBLIC = /^xpub[1-9A-HJ-NP-Za-km-z]{107}$/;
/** Extended private keys of every network: xprv, yprv, zprv, tprv, ... */
const PRIVATE = /^[a-z]prv/i;
/** From here on children are hardened; a public key cannot derive them. */
const INDEX_END = 2 ** 31;

export class DepositKey {
  readonly extended_public_key: string;
  /** SHA-256 of its text: what is pinned in the log */
  readonly fingerprint: Buffer;
  readonly #parent: HDNodeVoidWallet;
  readonly #children = new Map<number, Buffer>();

  constructor(extendedPublicKey: string, parent: HDNodeVoidWallet) {
    this.extended_public_key = extendedPublicKey;
    this.fingerprint = keptBytes(sha256(toUtf8Bytes(extendedPublicKey)));
    this.#parent = parent;
  }

  /** The address (20 bytes) at an index from 0 to 2^31 - 1. Derived in 0.6 ms once, then cached. */
  addressAt(index: number): Buffer {
    if (!isDepositIndex(index)) throw new RangeError(`there is no deposit address ${index}`);
    let address = this.#children.get(index);
    if (address === undefined) {
      address = keptBytes(this.#parent.deriveChild(index).address);
      this.#children.set(index, address);
    }
    return address;
  }
}

export function isDepositIndex(index: number): boolean {
  return Number.isSafeInteger(index) && index >= 0 && index < INDEX_END;
}

type ReadDepositKey = { readonly key: DepositKey } | { readonly problem: string };

/** The latest key, so that every batch of a log shares the derived addresses. */
let latest: DepositKey | undefined;

/** Parses the key. A problem says what is expected and repeats nothing of the text. */
export function readDepositKey(text: string): ReadDepositKey {
  if (latest?.extended_public_key === text) return { key: latest };
  const read = parsed(text);
  if ('key' in read) latest = read.key;
  return read;
}

function parsed(text: string): ReadDepositKey {
  if (PRIVATE.test(text)) {
    return problem(
      'it is an extended private key, which can spend every deposit: consider it exposed, keep it offline, set the xpub',
    );
  }
  if (!PUBLIC.test(text) || !hasChecksum(text))
    return problem('it is no extended public key (111 characters, xpub first), or mistyped');
  const parent = nodeOf(text);
  if (parent === undefined)
    return problem('its bytes are no point of the curve: export it from the wallet again');
  if (parent.depth !== DEPTH)
    return problem(
      `it is at depth ${parent.depth} of its wallet, the one of m/44'/195'/0'/0 is at depth ${DEPTH}`,
    );
  return { key: new DepositKey(text, parent) };
}

function problem(what: string): { readonly problem: string } {
  return { problem: `${what}; deposit addresses need the extended public key at m/44'/195'/0'/0` };
}

/** Checked here because ethers ignores the checksum. */
function hasChecksum(text: string): boolean {
  const value = decodeBase58(text);
  if (value >> BigInt(8 * (KEY_BYTES + CHECKSUM_BYTES)) !== 0n) return false;
  const bytes = Buffer.from(getBytes(toBeHex(value, KEY_BYTES + CHECKSUM_BYTES)));
  const checksum = Buffer.from(getBytes(sha256(sha256(bytes.subarray(0, KEY_BYTES)))));
  return checksum.subarray(0, CHECKSUM_BYTES).equals(bytes.subarray(KEY_BYTES));
}

/** Undefined when ethers finds no public key in the text. */
function nodeOf(text: string): HDNodeVoidWallet | undefined {
  try {
    const node = HDNodeWallet.fromExtendedKey(text);
    return node instanceof HDNodeVoidWallet ? node : undefined;
  } catch {
    // ethers gives no reason; version and checksum are checked already
    return undefined;
  }
}
