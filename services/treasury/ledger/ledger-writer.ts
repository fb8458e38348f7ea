/** Appends to the ledger, and sees whether what was appended counts. One append at a time: whoever waits decides on what the one before has left. */
import { randomInt } from 'node:crypto';
import type { TreasuryEvent } from '../../../schemas/treasury.ledger/events.ts';
import type { Codec } from '../../runtime/kafka/codec.ts';
import type { KafkaWriter } from '../../runtime/kafka/writer.ts';
import type { Logger } from '../../runtime/process/log.ts';
import { untilAborted } from '../../runtime/process/retry.ts';
import type { Books } from './books.ts';
import { toEntries } from './records.ts';
import type { Figures } from '../metrics.ts';
import type { News } from '../news.ts';

const PARTITION = 0;
/** The loser of a race lets the other go on: both writing all the time would fill the ledger with what does not count. */
const YIELD_MS_MIN = 100;
const YIELD_MS_MAX = 1_000;

export interface LedgerWriterOptions {
  readonly codec: Codec;
  readonly writer: KafkaWriter;
  /** name of the ledger's topic */
  readonly ledger_topic: string;
  readonly books: Books;
  readonly news: News;
  readonly figures: Figures;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

export class LedgerWriter {
  readonly #options: LedgerWriterOptions;

  constructor(options: LedgerWriterOptions) {
    this.#options = options;
  }

  /** True when the events count as they were written. Read back in any case. */
  async append(events: readonly TreasuryEvent[]): Promise<boolean> {
    const { codec, writer, ledger_topic: topic, books, news, figures, log, signal } = this.#options;
    const expected = books.ledger.end;
    const offset = await writer.append(topic, PARTITION, toEntries(codec, events));
    await news.until(() => books.ledger.end >= offset + BigInt(events.length));
    figures.appended(events.length);
    if (offset === expected) return true;
    figures.lostRace();
    log.info(
      { expected, got: offset, events: events.length },
      'another treasury wrote first, or a batch stands in the ledger twice: deciding anew',
    );
    await untilAborted(randomInt(YIELD_MS_MIN, YIELD_MS_MAX), signal);
    return false;
  }
}
