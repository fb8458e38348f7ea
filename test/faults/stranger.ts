/** Somebody who reaches the brokers and writes forged records; nobody there checks a writer. */
import { EMPTY_CHAIN, evolve, type Chain } from '../../projections/chain/chain.ts';
import { isChainEvent } from '../../schemas/chain.blocks/events.ts';
import { isReserveEvent, type ReserveReconciled } from '../../schemas/reserve.runs/events.ts';
import {
  CHAIN_BLOCKS,
  DEPOSIT_ADDRESSES,
  RESERVE_RUNS,
  TREASURY_LEDGER,
  TRON_TRANSFERS,
  type Topic,
} from '../../schemas/topics.ts';
import { transferPartition } from '../../schemas/tron-partition.ts';
import type { Invariant } from '../../services/ops/audit/findings.ts';
import { LedgerLog } from '../../services/ops/deposit/ledger-log.ts';
import type { Kafka } from '../../services/runtime/kafka/port.ts';
import type { Codec } from '../../services/runtime/kafka/codec.ts';
import { readLogEnds } from '../../services/runtime/kafka/ends.ts';
import { readLogEvents } from '../../services/runtime/kafka/log-events.ts';
import type { LogEntry } from '../../services/runtime/kafka/record.ts';
import { KafkaWriter } from '../../services/runtime/kafka/writer.ts';
import { never, silentLog } from '../support/kafka.ts';
import {
  ADDRESSES,
  forgedBlock,
  LEDGER,
  TRANSFERS,
  type Facts,
  type Forgeries,
  type Forgery,
} from './forgeries.ts';

/** A forged record to be written. */
export interface Plant {
  readonly kind: string;
  readonly topic: Topic;
  readonly forgery: Forgery<Forged>;
}

interface Forged {
  readonly type: string;
  readonly sequence?: number;
}

/** A forged record in the log. */
export interface Planted {
  readonly kind: string;
  readonly topic: string;
  readonly partition: number;
  readonly offset: bigint;
  /** by which the audit has to find it; undefined: it cannot */
  readonly found: Invariant | undefined;
}

/** One of each kind that is not left out. */
export function plantsOf(topic: Topic, forgeries: Forgeries<Forged>): readonly Plant[] {
  return Object.entries(forgeries).flatMap(([kind, forgery]) =>
    'left_out' in forgery ? [] : [{ topic, kind, forgery }],
  );
}

/** One of each kind that neither halts minting nor closes its gate. */
export const PLANTS: readonly Plant[] = [
  ...plantsOf(TREASURY_LEDGER, LEDGER),
  ...plantsOf(DEPOSIT_ADDRESSES, ADDRESSES),
  ...plantsOf(TRON_TRANSFERS, TRANSFERS),
];
/** Those of `PLANTS` that look like deposits: one in the ledger, one in `tron.transfers`. */
export const FORGED_DEPOSITS = 2;

/** The plants of one of so many turns, from 1 on: all of them in all turns. */
export function plantsIn(plants: readonly Plant[], turn: number, turns: number): readonly Plant[] {
  const [from, to] = [turn - 1, turn].map((at) => Math.floor((plants.length * at) / turns));
  return plants.slice(from, to);
}

type Given = Pick<Facts, 'accounts' | 'unpaid' | 'random'>;
type Known = Omit<Facts, 'sequence'>;

export class Stranger {
  readonly planted: Planted[] = [];
  readonly #kafka: Kafka;
  readonly #codec: Codec;
  readonly #given: Given;
  readonly #writer: KafkaWriter;
  readonly #ledger: LedgerLog;

  constructor(kafka: Kafka, codec: Codec, given: Given) {
    this.#kafka = kafka;
    this.#codec = codec;
    this.#given = given;
    this.#writer = new KafkaWriter(kafka, { log: silentLog(), signal: never });
    this.#ledger = new LedgerLog({ kafka, codec, log: silentLog() });
  }

  close(): Promise<void> {
    return this.#writer.close();
  }

  /** Writes them, as they follow from the logs, in which something is credited. */
  async forge(plants: readonly Plant[]): Promise<void> {
    if (plants.length === 0) return;
    const known = await this.#look();
    for (const plant of plants) this.planted.push(await this.#plant(plant, known));
  }

  /** Writes them one after the other, each behind another record than the log has. */
  async *misplace(plants: readonly Plant[]): AsyncGenerator<Planted> {
    const known = await this.#look();
    for (const plant of plants) {
      const previous = known.random.bytes(32);
      const event = (facts: Facts): Forged => {
        const misplaced = { sequence: facts.sequence, previous };
        return { ...plant.forgery.event(facts), ...misplaced };
      };
      yield await this.#plant({ ...plant, forgery: { ...plant.forgery, event } }, known);
    }
  }

  /** Writes a final block with a Mint of the authority. Nobody else may write to the chain. */
  async forgeBlock(authority: Buffer): Promise<void> {
    const topic = CHAIN_BLOCKS.name;
    let chain: Chain = EMPTY_CHAIN;
    const offset = await this.#read(topic, (event, at) => {
      const judged = isChainEvent(event) ? evolve(chain, event, at) : undefined;
      if (judged?.verdict === 'applied') chain = judged.chain;
    });
    if (chain.status === 'empty') throw new Error('the chain has no block');
    const { random } = this.#given;
    const facts = { authority, random, sequence: Number(offset), now: Date.now() };
    const entries = forgedBlock(chain, facts).map((event) => this.#entry(event));
    await this.#writer.append(topic, 0, entries);
    this.planted.push({ kind: 'a final block', topic, partition: 0, offset, found: 'I2' });
  }

  async #look(): Promise<Known> {
    await this.#ledger.catchUp();
    let newest_run: ReserveReconciled | undefined;
    await this.#read(RESERVE_RUNS.name, (event) => {
      if (isReserveEvent(event)) newest_run = event;
    });
    for (const [deposit_id, credited] of this.#ledger.ledger.deposits) {
      if (credited.status !== 'credited' || newest_run === undefined) continue;
      return { ...this.#given, now: Date.now(), deposit_id, credited, newest_run };
    }
    throw new Error('nothing is credited yet, or there was no reserve run');
  }

  /** Again until nobody was faster, where a record counts only at the offset that it names. */
  async #plant({ kind, topic: { name: topic }, forgery }: Plant, known: Known): Promise<Planted> {
    const { found } = forgery;
    const partition =
      topic === TRON_TRANSFERS.name ? transferPartition(this.#given.unpaid.address) : 0;
    for (;;) {
      const { high } = await readLogEnds(this.#kafka, topic, partition);
      const sequence = Number(high);
      const event = forgery.event({ ...known, sequence });
      const offset = await this.#writer.append(topic, partition, [this.#entry(event)]);
      if (offset === high || event.sequence !== sequence)
        return { kind, topic, partition, offset, found };
    }
  }

  #entry(event: Forged): LogEntry {
    const headers = { event_id: 'forged', event_type: event.type, source: 'mallory' };
    const timestamp = Date.now();
    return { key: 'forged', value: this.#codec.encode(event), headers, timestamp };
  }

  /** Reads a topic of one partition; gives its end. */
  async #read(
    topic: string,
    take: (event: { readonly type: string }, offset: bigint) => void,
  ): Promise<bigint> {
    const { high: to } = await readLogEnds(this.#kafka, topic, 0);
    const source = { kafka: this.#kafka, codec: this.#codec };
    const range = { topic, partition: 0, from: 0n, to };
    await readLogEvents(source, range, (event, { offset }) => take(event, offset));
    return to;
  }
}
