/**
 * The heads of the chained logs (LOG-8): the hash of the last record covers every record before it.
 * A person who noted a head can tell later whether the log still begins with the same records.
 */
import { hashOfValue, linked, NO_RECORDS, type Link } from '../../../schemas/hash-chain.ts';
import { DEPOSIT_ADDRESSES, RESERVE_RUNS } from '../../../schemas/topics.ts';
import type { LogRecord } from '../../runtime/kafka/record.ts';
import { Misuse } from '../usage.ts';
import type { LogPosition } from './findings.ts';

export interface ChainHead extends LogPosition {
  /** 0x + hex; `offset` is that of the record it is the hash of */
  readonly head: string;
}

/** A head as it was printed. Throws `Misuse`. */
export function readHead(text: string): Buffer {
  const [, digits] = /^(?:0x)?([0-9a-f]{64})$/i.exec(text) ?? [];
  if (digits === undefined)
    throw new Misuse(`--head is a hash of 64 hexadecimal digits, as ops audit prints it`);
  return Buffer.from(digits, 'hex');
}

export class ChainHeads {
  readonly #wanted: Buffer | undefined;
  readonly #heads = new Map<string, LogPosition & { readonly hash: Buffer }>();
  #found: LogPosition | undefined;

  constructor(wanted?: Buffer) {
    this.#wanted = wanted;
  }

  /** Takes each record in order from offset 0. Throws `BrokenChain`. */
  record(topic: string, partition: number, event: object, { offset, value }: LogRecord): void {
    if (!isChained(event) || !counts(topic, event, offset)) return;
    const before = this.#heads.get(topic)?.hash ?? NO_RECORDS;
    const hash = linked(before, event, offset, hashOfValue(value));
    this.#heads.set(topic, { topic, partition, offset, hash });
    if (this.#wanted?.equals(hash) === true) this.#found = { topic, partition, offset };
  }

  /** In the order of reading. */
  get heads(): readonly ChainHead[] {
    return [...this.#heads.values()].map(({ topic, partition, offset, hash }) => ({
      topic,
      partition,
      offset,
      head: `0x${hash.toString('hex')}`,
    }));
  }

  /** The last record under the wanted head; null: the logs lack it, undefined: none is wanted. */
  get found(): LogPosition | null | undefined {
    return this.#wanted === undefined ? undefined : (this.#found ?? null);
  }
}

function isChained(event: object): event is Link {
  return 'previous' in event;
}

/** A lost race or a repetition is no record of the chain; every run is one. */
function counts(topic: string, { sequence = -1 }: Link, offset: bigint): boolean {
  if (topic === RESERVE_RUNS.name || sequence === Number(offset)) return true;
  // older writers of addresses wrote for any place
  return topic === DEPOSIT_ADDRESSES.name && sequence === -1;
}
