/**
 * The ledger for a person's decision: folded from its beginning, appended to with the same
 * compare-and-set on the offset as the treasury's, and folded again.
 */
import { randomInt } from 'node:crypto';
import { setTimeout as after } from 'node:timers/promises';
import { Ledger } from '../../../projections/deposits/domain/ledger.ts';
import { hashOfValue } from '../../../schemas/hash-chain.ts';
import { TREASURY_LEDGER } from '../../../schemas/topics.ts';
import { isTreasuryEvent, type TreasuryEvent } from '../../../schemas/treasury.ledger/events.ts';
import { undecodable, type Codec } from '../../runtime/kafka/codec.ts';
import { Fault } from '../../runtime/process/errors.ts';
import { KafkaWriter } from '../../runtime/kafka/writer.ts';
import { readLogEvents } from '../../runtime/kafka/log-events.ts';
import { readLogEnds } from '../../runtime/kafka/ends.ts';
import type { Kafka } from '../../runtime/kafka/port.ts';
import type { Logger } from '../../runtime/process/log.ts';
import { toEntries } from '../../treasury/ledger/ledger-writer.ts';
import type { LogPosition } from '../audit/findings.ts';

const PARTITION = 0;
/** The treasury appends too: after a lost race the decision is made again. */
const TRIES_MAX = 20;
const TIMEOUT_MS = 30_000;
/** At random, so that two writers do not meet again and again. */
const RACE_MS_MIN = 20;
const RACE_MS_MAX = 2_000;

interface LedgerLogOptions {
  readonly kafka: Kafka;
  readonly codec: Codec;
  readonly log: Logger;
  /** default `treasury.ledger` */
  readonly topic?: string;
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
    if (high < this.ledger.end)
      throw new Fault(
        'log_lost',
        `${this.#topic} ends before the record ${this.ledger.end} that was read: its end was lost or it was created again; restore it, then give this command again`,
        { retry: false },
      );
    const range = { topic: this.#topic, partition: PARTITION, from: this.ledger.end, to: high };
    await readLogEvents({ kafka, codec }, range, (event, { offset, value }) => {
      if (!isTreasuryEvent(event))
        throw undecodable(`${event.type} at offset ${offset} is no event of the ledger`);
      this.ledger.apply(event, offset, hashOfValue(value));
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
  ): Promise<{ readonly appended: LogPosition | undefined } | { readonly refused: Reason }> {
    const { kafka, codec, log } = this.#options;
    const writer = new KafkaWriter(kafka, { log, signal: AbortSignal.timeout(TIMEOUT_MS) });
    try {
      for (let tries = 1; tries <= TRIES_MAX; tries++) {
        await this.catchUp();
        const decided = decision(this.ledger);
        if ('refused' in decided) return decided;
        if (decided.events.length === 0) return { appended: undefined };
        const expected = this.ledger.end;
        const entries = toEntries(codec, decided.events, this.ledger.head, 'ops');
        const offset = await writer.append(this.#topic, PARTITION, entries);
        if (offset !== expected) {
          await after(randomInt(RACE_MS_MIN, Math.min(RACE_MS_MAX, RACE_MS_MIN * 2 ** tries)));
          continue;
        }
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
}
