/**
 * The chain of records in `treasury.ledger`, `deposit.addresses` and `reserve.runs` (LOG-8). The
 * hash of a record covers its value and the hash of the record before it that counted, hence all
 * records up to it: head = SHA-256(head before, SHA-256(value)). An event names in `previous` the
 * head that its writer saw.
 */
import { sha256 } from 'ethers';
import { keptBytes } from './address.ts';

/** The head before the first record. */
export const NO_RECORDS: Buffer = Buffer.alloc(0);

/** An event does not follow the records before it: one of them was changed, removed or moved. */
export class BrokenChain extends Error {
  /** of the record with the event */
  readonly offset: bigint;
  /** a clause of its own, without the offset */
  readonly reason: string;

  constructor(offset: bigint, reason: string) {
    super(`the record at offset ${offset} cannot be applied: ${reason}`);
    this.name = 'BrokenChain';
    this.offset = offset;
    this.reason = reason;
  }
}

/** SHA-256 of a record's value, as it is stored. */
export function hashOfValue(value: Buffer | null): Buffer {
  return keptBytes(sha256(value ?? NO_RECORDS));
}

/** The head after one more record. Without the hash of its value no later event follows. */
export function headAfter(head: Buffer, valueHash = NO_RECORDS): Buffer {
  return keptBytes(sha256(Buffer.concat([head, valueHash])));
}

/** The part of an event that links it to the records before it. */
export interface Link {
  /** the offset that the event was written for: `previous` is true only there */
  readonly sequence?: number;
  /** the head that its writer saw; none or empty: it says nothing */
  readonly previous?: Buffer;
}

/** Why an event at this offset does not follow the records of this head. */
export function brokenLink(
  head: Buffer,
  { sequence, previous = NO_RECORDS }: Link,
  offset: bigint,
): string | undefined {
  if (previous.length === 0 || previous.equals(head) || sequence !== Number(offset))
    return undefined;
  const hash = head.length === 0 ? 'there is none' : `it is ${head.toString('hex')}`;
  return `it names ${previous.toString('hex')} as the hash of the record before it that counted, and ${hash}: a record before it was changed, removed or moved`;
}

/** The head after an event at this offset. Throws `BrokenChain`. */
export function linked(
  head: Buffer,
  link: Link,
  offset: bigint,
  valueHash: Buffer | undefined,
): Buffer {
  const broken = brokenLink(head, link, offset);
  if (broken !== undefined) throw new BrokenChain(offset, broken);
  return headAfter(head, valueHash);
}
