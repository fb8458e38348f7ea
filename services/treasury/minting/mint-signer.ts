/**
 * The mint authority's key. Signs only Mints, the same Mint with the same bytes (RFC 6979), the
 * reserve runs that this process measured, and its decisions in the ledger.
 */
import { hkdfSync } from 'node:crypto';
import { computeAddress, SigningKey } from 'ethers';
import { parseAddress, toHex } from '../../../schemas/address.ts';
import { signatureBy, type SignedDecision } from '../../../schemas/operator-signature.ts';
import { encodeRaw, transactionHash, unsignedDigest } from '../../../schemas/raw-transaction.ts';
import type { ReserveReconciled } from '../../../schemas/reserve.runs/events.ts';
import type { MintCall } from '../../../projections/deposits/domain/minting.ts';
import { assert } from '../../runtime/process/errors.ts';

const KEY = /^(?:0x)?([0-9a-f]{64})$/i;
const CURVE_ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;

/** The private key as 0x + 64 hex digits; undefined when the text is not a key. */
export function parseMintKey(text: string): string | undefined {
  const digits = KEY.exec(text)?.[1]?.toLowerCase();
  const number = BigInt(`0x${digits ?? '0'}`);
  return number > 0n && number < CURVE_ORDER ? `0x${digits}` : undefined;
}

/** The account of a key, 20 bytes; `key` as `parseMintKey` gives it. */
export function authorityOf(key: string): Buffer {
  const address = parseAddress(computeAddress(key));
  assert(address !== undefined, 'a key has an address');
  return address;
}

export interface SignedMint {
  readonly raw: Buffer;
  /** 32 bytes */
  readonly tx_hash: Buffer;
}

export class MintSigner {
  /** 20 bytes: the mint authority, if the key is the right one */
  readonly address: Buffer;
  readonly #key: SigningKey;
  readonly #chainId: number;

  /** `key` as `parseMintKey` gives it. */
  constructor(key: string, chainId: number) {
    this.#key = new SigningKey(key);
    this.#chainId = chainId;
    this.address = authorityOf(key);
  }

  sign({ nonce, to, amount, reference }: MintCall): SignedMint {
    const call = {
      function_call_type: 'Mint',
      arguments: { to: toHex(to), amount, reference: toHex(reference) },
    } as const;
    const unsigned = { chain_id: this.#chainId, nonce, call };
    const { r, s, v } = this.#key.sign(unsignedDigest(unsigned));
    const raw = Buffer.from(encodeRaw({ ...unsigned, signature: { r, s, v } }));
    return { raw, tx_hash: Buffer.from(transactionHash(raw).slice(2), 'hex') };
  }

  /** A key for another purpose, 32 bytes: only who has the mint authority's has it. */
  derived(purpose: string): Buffer {
    const key = Buffer.from(this.#key.privateKey.slice(2), 'hex');
    return Buffer.from(hkdfSync('sha256', key, '', purpose, 32));
  }

  /** 65 bytes, valid only at the place in this ledger that the decision names. */
  signDecision(decision: SignedDecision, ledger_id: Buffer | undefined): Buffer {
    return signatureBy(this.#key, decision, ledger_id);
  }

  /** 65 bytes, valid only at the place in the log that the run names. */
  signRun(run: ReserveReconciled): Buffer {
    return signatureBy(this.#key, run);
  }
}
