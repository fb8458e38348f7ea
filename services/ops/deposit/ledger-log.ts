/**
 * The ledger for a person's decision: folded from its beginning, appended to with the same
 * compare-and-set on the offset as the treasury's, and folded again.
 */
import { randomBytes } from 'node:crypto';
import type { Kafka } from 'kafkajs';
import { Ledger } from '../../../projections/deposits/domain/ledger.ts';
import { TREASURY_LEDGER } from '../../../schemas/topics.ts';
import {
  isTreasuryEvent,
  treasuryEventId,
  treasuryEventKey,
  type TreasuryEvent,
} from '../../../schemas/treasury.ledger/events.ts';
import { undecodable, type Codec } from '../../runtime/kafka/codec.ts';
import { Fault } from '../../runtime/process/errors.ts';
import { KafkaWriter } from '../../runtime/kafka/writer.ts';
import { readLogEvents } from '../../runtime/kafka/range.ts';
import { readLogEnds } from '../../runtime/kafka/ends.ts';
import type { Logger } from '../../runtime/process/log.ts';

const PARTITION = 0;
/** The treasury appends too: after a lost race the decision is made again. */
const TRIES_MAX = 20;
const TIMEOUT_MS = 30_000;

export interface LedgerLogOptions {
  readonly kafka: Kafka;
  readonly codec: Codec;
  readonly log: Logger;
  /** default `treasury.ledger` */
  readonly topic?: string;
}

export interface Appended {
  readonly topic: string;
  readonly partition: number;
  readonly offset: bigint;
}

export class LedgerLog {
  readonly ledger = new Ledger();
  readonly #options: LedgerLogOptions;
  readonly #topic: string;

  constructor(options: LedgerLogOptions) {
    this.#options = options;
    this.#topic = options.topic ?? TREASURY_LEDGER.name;
  }

  /** Folds the log up to its present end. Throws a fault for a record that cannot be decoded. */
  async catchUp(): Promise<void> {
    const { kafka, codec } = this.#options;
    const { high } = await readLogEnds(kafka, this.#topic, PARTITION);
    const range = { topic: this.#topic, partition: PARTITION, from: this.ledger.end, to: high };
    await readLogEvents({ kafka, codec }, range, (event, { offset }) => {
      if (!isTreasuryEvent(event))
        throw undecodable(`${event.type} at offset ${offset} is no event of the ledger`);
      this.ledger.apply(event, offset);
    });
  }

  /**
   * Decides on the present ledger and appends, again after each lost race. Resolves to the position
   * of the first event, undefined when there was nothing to append, or to the refusal.
   */
  async decide<Reason extends string>(
    decision: (
      ledger: Ledger,
    ) => { readonly events: readonly TreasuryEvent[] } | { readonly refused: Reason },
  ): Promise<{ readonly appended: Appended | undefined } | { readonly refused: Reason }> {
    const { kafka, log } = this.#options;
    const writer = new KafkaWriter(kafka, { log, signal: AbortSignal.timeout(TIMEOUT_MS) });
    try {
      for (let tries = 1; tries <= TRIES_MAX; tries++) {
        await this.catchUp();
        const decided = decision(this.ledger);
        if ('refused' in decided) return decided;
        const [event] = decided.events;
        if (event === undefined) return { appended: undefined };
        const expected = this.ledger.end;
        const offset = await writer.append(
          this.#topic,
          PARTITION,
          decided.events.map((each) => this.#entry(each)),
        );
        if (offset !== expected) continue;
        await this.catchUp();
        return { appended: { topic: this.#topic, partition: PARTITION, offset } };
      }
    } finally {
      await writer.close();
    }
    throw new Fault(
      'lost_races',
      `the treasury was faster ${TRIES_MAX} times in a row: nothing was changed; try again`,
      { retry: true },
    );
  }

  #entry(event: TreasuryEvent): {
    key: string;
    value: Buffer;
    headers: Record<string, string>;
    timestamp: number;
  } {
    const headers = {
      event_id: treasuryEventId(event),
      event_type: event.type,
      source: 'ops',
      trace_id: randomBytes(16).toString('hex'),
    };
    return {
      key: treasuryEventKey(event),
      value: this.#options.codec.encode(event),
      headers,
      timestamp: event.decided_at,
    };
  }
}
