/** The watcher's view of the `watch` tables: the addresses due next, the transfers in the log. */
import {
  longestDue,
  nextHot,
  nextInTurn,
  observedValue,
  queued,
  receivedAfter,
  seenTransfersTo,
  watchedAmong,
} from '../../projections/watch/queries.ts';
import { watch } from '../../projections/watch/watch.ts';
import type { Query } from '../../projections/contract/page.ts';
import { bytesKey } from '../../schemas/address.ts';
import { TRON_TRANSFERS } from '../../schemas/topics.ts';
import { byteaBytes } from '../runtime/postgres/cells.ts';
import type { Cells, Reader } from '../runtime/postgres/pool.ts';

/** A deposit address in the queue. Times are Unix milliseconds. */
export interface Entry {
  /** 20 bytes */
  readonly address: Buffer;
  readonly partition: number;
  readonly derivation_index: number;
  readonly hot: boolean;
  /** 0: never */
  readonly checked_at: number;
  /** every transfer up to this block time is in the log; 0: nothing is known */
  readonly checked_until: number;
  /** place in the rotation: the last check, or the opening of the panel if that is later */
  readonly turn_at: number;
}

export function keyOf({ address }: Pick<Entry, 'address'>): string {
  return bytesKey(address);
}

/** An address with what the log says it received, micro-USDT. */
export interface Received {
  readonly entry: Entry;
  readonly observed: bigint;
}

/** When the hot address that waits longest became due, among the ever paid ones and the others. */
export interface LongestDue {
  readonly paid: number | undefined;
  readonly unpaid: number | undefined;
}

/** Indexes of logs, by the transaction's id in hex. */
export type SeenLogs = ReadonlyMap<string, ReadonlySet<number>>;

export class ReadModel {
  readonly #reader: Reader;

  constructor(reader: Reader) {
    this.#reader = reader;
  }

  /** Hot addresses of these partitions due at this time, in the order of service. */
  async hot(partitions: readonly number[], limit: number, at: number): Promise<readonly Entry[]> {
    return (await this.#reader.rows(nextHot(partitions, limit, at))).map(entryOf);
  }

  /** All addresses of these partitions in turn, longest unchecked first. */
  async inTurn(partitions: readonly number[], limit: number): Promise<readonly Entry[]> {
    return (await this.#reader.rows(nextInTurn(partitions, limit))).map(entryOf);
  }

  /** The addresses of these partitions after this one, in the order of their bytes. */
  async receivedAfter(
    partitions: readonly number[],
    address: Buffer,
    limit: number,
  ): Promise<readonly Received[]> {
    const rows = await this.#reader.rows(receivedAfter(partitions, address, limit));
    return rows.map((cells) => ({ entry: entryOf(cells), observed: BigInt(textAt(cells, 7)) }));
  }

  /** The deposit addresses among these addresses. */
  async entries(addresses: readonly Buffer[]): Promise<readonly Entry[]> {
    if (addresses.length === 0) return [];
    return (await this.#reader.rows(queued(addresses))).map(entryOf);
  }

  async longestDue(partitions: readonly number[]): Promise<LongestDue> {
    const rows = await this.#reader.rows(longestDue(partitions));
    const due = new Map(rows.map((cells) => [textAt(cells, 0), Number(textAt(cells, 1))]));
    return { paid: due.get('t'), unpaid: due.get('f') };
  }

  /** The logs of these transactions that are known as transfers to the address. */
  async seen(address: Buffer, txIds: readonly Buffer[]): Promise<SeenLogs> {
    const seen = new Map<string, Set<number>>();
    if (txIds.length === 0) return seen;
    for (const cells of await this.#reader.rows(seenTransfersTo(address, txIds))) {
      const id = bytesAt(cells, 0).toString('hex');
      seen.set(id, (seen.get(id) ?? new Set()).add(Number(textAt(cells, 1))));
    }
    return seen;
  }

  /** Derivation indexes of the deposit addresses among these, by address in hex. */
  async watched(addresses: readonly Buffer[]): Promise<ReadonlyMap<string, number>> {
    if (addresses.length === 0) return new Map();
    const rows = await this.#reader.rows(watchedAmong(addresses));
    return new Map(
      rows.map((cells) => [bytesAt(cells, 0).toString('hex'), Number(textAt(cells, 1))]),
    );
  }

  /** Micro-USDT received by the address according to the log. */
  async observed(address: Buffer): Promise<bigint> {
    const [cells = []] = await this.#reader.rows(observedValue(address));
    return BigInt(textAt(cells, 0));
  }

  /** First offset of each partition of this topic that is not folded. */
  async folded(topic = TRON_TRANSFERS.name): Promise<ReadonlyMap<number, bigint>> {
    const rows = await this.#reader.rows(foldedOf(topic));
    return new Map(rows.map((cells) => [Number(textAt(cells, 0)), BigInt(textAt(cells, 1))]));
  }
}

function foldedOf(topic: string): Query {
  return {
    name: 'watch_folded',
    text: 'SELECT partition, next_offset FROM projector.checkpoints WHERE projection = $1 AND version = $2 AND topic = $3',
    values: [watch.name, watch.version, topic],
  };
}

function entryOf(cells: Cells): Entry {
  return {
    address: bytesAt(cells, 0),
    partition: Number(textAt(cells, 1)),
    derivation_index: Number(textAt(cells, 2)),
    hot: textAt(cells, 3) === 't',
    checked_at: Number(textAt(cells, 4)),
    checked_until: Number(textAt(cells, 5)),
    turn_at: Number(textAt(cells, 6)),
  };
}

function textAt(cells: Cells, at: number): string {
  const cell = cells[at];
  if (cell === undefined || cell === null)
    throw new Error(`column ${at} of the read model is null`);
  return cell;
}

function bytesAt(cells: Cells, at: number): Buffer {
  return byteaBytes(textAt(cells, at));
}
