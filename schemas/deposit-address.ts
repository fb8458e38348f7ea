/**
 * Deposit addresses, watch-only: the children of an extended public key at m/44'/195'/0'/0 (BIP-32 and BIP-44, coin 195). Nothing can be spent with it; extended
 * private keys are refused, they must not come near this system.
 */
import { decodeBase58, getBytes, HDNodeVoidWallet, HDNodeWallet, sha256, toBeHex } from 'ethers';

/** How the log calls this way of deriving addresses. */
export const SCHEME = 'hd';

/** The level below which the addresses are: m / purpose / coin / account / change. */
const DEPTH = 4;
const KEY_BYTES = 78;
const CHECKSUM_BYTES = 4;
const PUBLIC = /^xpub[1-9A-HJ-NP-Za-km-z]{107}$/;
/** Of every network and script that has them: xprv, yprv, zprv, tprv, ... */
const PRIVATE = /^[a-z]prv/i;
/** From here on children are hardened: they cannot be derived from a public key. */
const INDEX_END = 2 ** 31;

export class DepositKey {
  /** as it is pinned in the log */
  readonly extended_public_key: string;
  /** of the key, 0x + 8 hex digits: tells people which one it is */
  readonly fingerprint: string;
  readonly #parent: HDNodeVoidWallet;
  readonly #children = new Map<number, Buffer>();

  constructor(extendedPublicKey: string, parent: HDNodeVoidWallet) {
    this.extended_public_key = extendedPublicKey;
    this.fingerprint = parent.fingerprint;
    this.#parent = parent;
  }

  /** The deposit address (20 bytes) at a derivation index, 0 to 2^31 - 1. The first time it takes the better part of a millisecond; then it is kept. */
  addressAt(index: number): Buffer {
    if (!isDepositIndex(index)) throw new RangeError(`there is no deposit address ${index}`);
    let address = this.#children.get(index);
    if (address === undefined) {
      address = Buffer.from(getBytes(this.#parent.deriveChild(index).address));
      this.#children.set(index, address);
    }
    return address;
  }
}

/** Whether an address can be derived at this index. */
export function isDepositIndex(index: number): boolean {
  return Number.isSafeInteger(index) && index >= 0 && index < INDEX_END;
}

export type ReadDepositKey = { readonly key: DepositKey } | { readonly problem: string };

/** The key asked for last. A log has one for ever, so that what was derived once serves every batch, and every time that a batch is tried again. */
let latest: DepositKey | undefined;

/** The key that the text is. A problem says what to give instead, and repeats nothing of the text. */
export function readDepositKey(text: string): ReadDepositKey {
  if (latest?.extended_public_key === text) return { key: latest };
  const read = parsed(text);
  if ('key' in read) latest = read.key;
  return read;
}

function parsed(text: string): ReadDepositKey {
  if (PRIVATE.test(text)) {
    return problem(
      'it is an extended private key, whoever holds it can spend every deposit: keep it offline, consider it exposed, give the xpub',
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

/** The library takes 82 bytes whatever their checksum is. */
function hasChecksum(text: string): boolean {
  const value = decodeBase58(text);
  if (value >> BigInt(8 * (KEY_BYTES + CHECKSUM_BYTES)) !== 0n) return false;
  const bytes = Buffer.from(getBytes(toBeHex(value, KEY_BYTES + CHECKSUM_BYTES)));
  const checksum = Buffer.from(getBytes(sha256(sha256(bytes.subarray(0, KEY_BYTES)))));
  return checksum.subarray(0, CHECKSUM_BYTES).equals(bytes.subarray(KEY_BYTES));
}

/** Undefined when the library finds no public key in it. */
function nodeOf(text: string): HDNodeVoidWallet | undefined {
  try {
    const node = HDNodeWallet.fromExtendedKey(text);
    return node instanceof HDNodeVoidWallet ? node : undefined;
  } catch {
    // what ethers throws here says no more than that the bytes are none; version and checksum are checked already
    return undefined;
  }
}
