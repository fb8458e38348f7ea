/**
 * Appends to the log. kafkajs loses acknowledged records when two sends of an idempotent producer
 * overlap, and when a batch is given up after a rejection. So there is one send in flight, of one
 * partition, and a rejection means "outcome unknown": the same batch is sent again by the same
 * producer (the broker drops repeated sequence numbers) until it is acknowledged. Only when the
 * broker has lost the sequence is there a new producer; the batch may then be in the log twice,
 * which readers see by event ids and sequences.
 */
import { Fault } from '../process/errors.ts';
import type { Logger } from '../process/log.ts';
import type { Metrics } from '../process/metrics.ts';
import { untilAborted } from '../process/retry.ts';
import { disconnect } from './client.ts';
import { errorType, type Appender, type Kafka } from './port.ts';
import type { LogEntry } from './record.ts';

export interface WriterOptions {
  readonly log: Logger;
  /** ends retries when the process drains: the outcome of the batch is then unknown */
  readonly signal: AbortSignal;
  /** back-off before the same batch is sent again */
  readonly retry_ms_min?: number;
  readonly retry_ms_max?: number;
  /** how long a draining process waits for an acknowledgement */
  readonly answer_ms?: number;
  /** gets the largest batch of each topic */
  readonly metrics?: Metrics;
}

const TOO_LARGE =
  "look at the topic's max.message.bytes and the broker's message.max.bytes: they are not as this software declares them";
const NOT_ALLOWED = "give this service's account the right to write";
const NOT_OURS = 'look at the configuration of the topic: it is not as this software declares it';

/** Errors after which the broker never accepts the batch, and the remedy; nothing was appended. */
const REFUSED: ReadonlyMap<string, string> = new Map([
  ['MESSAGE_TOO_LARGE', TOO_LARGE],
  ['RECORD_LIST_TOO_LARGE', TOO_LARGE],
  ['INVALID_TOPIC_EXCEPTION', NOT_OURS],
  ['INVALID_RECORD', NOT_OURS],
  ['UNSUPPORTED_FOR_MESSAGE_FORMAT', NOT_OURS],
  ['TOPIC_AUTHORIZATION_FAILED', NOT_ALLOWED],
  ['CLUSTER_AUTHORIZATION_FAILED', NOT_ALLOWED],
]);

/** The record is dated more than an hour after the broker's clock. */
const AHEAD = 'INVALID_TIMESTAMP';

/** The broker has lost this producer's sequence or the batch's offset: a new producer helps. */
const SEQUENCE_LOST = new Set([
  'OUT_OF_ORDER_SEQUENCE_NUMBER',
  'DUPLICATE_SEQUENCE_NUMBER',
  'UNKNOWN_PRODUCER_ID',
  'INVALID_PRODUCER_EPOCH',
  'INVALID_PRODUCER_ID_MAPPING',
]);

export class KafkaWriter {
  readonly #kafka: Kafka;
  readonly #options: Required<Omit<WriterOptions, 'metrics'>>;
  readonly #shown;
  readonly #largest = new Map<string, number>();
  #appender: Appender | undefined;
  #queue: Promise<unknown> = Promise.resolve();
  #ended = false;
  #fault: Fault | undefined;

  constructor(kafka: Kafka, options: WriterOptions) {
    this.#kafka = kafka;
    this.#options = { retry_ms_min: 50, retry_ms_max: 2_000, answer_ms: 2_000, ...options };
    this.#shown = options.metrics?.gauge(
      'log_batch_bytes_largest',
      'largest batch since the start, in bytes on the wire',
      ['topic'],
    );
  }

  /**
   * Appends the entries as one batch; resolves with the first offset once it is acknowledged.
   * Throws `append_refused` and `clock_ahead` (nothing was appended), or `append_unknown` (the
   * batch may be in the log) when it is refused after an attempt without an outcome, and when the
   * process drains; the writer then appends nothing more.
   */
  append(topic: string, partition: number, entries: readonly LogEntry[]): Promise<bigint> {
    const sent = this.#queue
      .then(() => this.#send(topic, partition, entries))
      .finally(() => (this.#fault = undefined));
    this.#queue = sent.catch(() => undefined);
    return sent;
  }

  /** Why the append in flight is not acknowledged yet. */
  get fault(): Fault | undefined {
    return this.#fault;
  }

  async close(): Promise<void> {
    await this.#queue;
    this.#ended = true;
    await this.#dropAppender();
  }

  async #send(topic: string, partition: number, entries: readonly LogEntry[]): Promise<bigint> {
    const { signal, log, retry_ms_min: retryMsMin, retry_ms_max: retryMsMax } = this.#options;
    // after an unacknowledged batch the next one would get its sequence numbers, and be dropped
    if (this.#ended)
      throw new Fault(
        'append_unknown',
        `${topic}: the writer has ended, ${entries.length} records were not sent`,
        { retry: true },
      );
    let isUnknown = false;
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#inTime(this.#attempt(topic, partition, entries));
      } catch (cause) {
        const type = errorType(cause);
        const remedy = REFUSED.get(type ?? '');
        if (remedy !== undefined || type === AHEAD) {
          await this.#dropAppender();
          if (isUnknown)
            throw new Fault(
              'append_unknown',
              `${topic} refused to take ${entries.length} records again, and may have them from before: ${type}`,
              { retry: true, cause },
            );
          if (remedy === undefined) throw clockAhead(topic, cause);
          const message = `${topic} refused ${entries.length} records: ${type}. What to do: ${remedy}, then start again`;
          throw new Fault('append_refused', message, { retry: false, cause });
        }
        isUnknown = true;
        this.#fault = unacknowledged(topic, cause);
        if (type !== undefined && SEQUENCE_LOST.has(type)) await this.#dropAppender();
        if (!signal.aborted) {
          log.warn(
            { topic, partition, records: entries.length, attempt, err: cause },
            'append not acknowledged, sending the same batch again',
          );
          await untilAborted(
            Math.min(retryMsMax, retryMsMin * 2 ** Math.min(attempt - 1, 10)),
            signal,
          );
        }
        if (signal.aborted) {
          this.#ended = true;
          throw new Fault(
            'append_unknown',
            `${topic}: stopped before the broker acknowledged ${entries.length} records`,
            { retry: true, cause },
          );
        }
      }
    }
  }

  async #attempt(topic: string, partition: number, entries: readonly LogEntry[]): Promise<bigint> {
    const appender = await this.#connected();
    const { offset, bytes } = await appender.append(topic, partition, entries);
    const largest = Math.max(bytes, this.#largest.get(topic) ?? 0);
    this.#largest.set(topic, largest);
    this.#shown?.set({ topic }, largest);
    return offset;
  }

  /** The answer; while the process drains, within `answer_ms`. */
  async #inTime<Answer>(answer: Promise<Answer>): Promise<Answer> {
    const { signal, answer_ms: answerMs } = this.#options;
    const given = Promise.withResolvers<never>();
    let timer: NodeJS.Timeout | undefined;
    const limit = (): void => {
      timer = setTimeout(
        () => given.reject(new Error(`no answer within ${answerMs} ms of draining`)),
        answerMs,
      );
    };
    if (signal.aborted) limit();
    else signal.addEventListener('abort', limit, { once: true });
    try {
      return await Promise.race([answer, given.promise]);
    } finally {
      signal.removeEventListener('abort', limit);
      clearTimeout(timer);
    }
  }

  async #connected(): Promise<Appender> {
    if (this.#appender !== undefined) return this.#appender;
    const appender = this.#kafka.appender();
    try {
      await appender.connect();
    } catch (error) {
      await disconnect(appender, this.#options.log, this.#options.answer_ms);
      throw error;
    }
    this.#appender = appender;
    if (this.#ended) await this.#dropAppender();
    return appender;
  }

  async #dropAppender(): Promise<void> {
    const appender = this.#appender;
    this.#appender = undefined;
    if (appender !== undefined)
      await disconnect(appender, this.#options.log, this.#options.answer_ms);
  }
}

function unacknowledged(topic: string, cause: unknown): Fault {
  if (cause instanceof Fault && cause.shown !== undefined) return cause;
  const type = errorType(cause);
  const why = type === undefined ? '' : ` (${type})`;
  const shown = `the Kafka brokers do not acknowledge records of ${topic}${why}: look whether all of them run; the records are sent again`;
  return new Fault('kafka', shown, { retry: true, shown, cause });
}

/** The caller dates its records anew. */
function clockAhead(topic: string, cause: unknown): Fault {
  const shown = `the clock of this machine, ${new Date().toISOString()}, is more than an hour ahead of the brokers', so they refuse records. What to do: set the wrong clock right; then it goes on by itself`;
  return new Fault('clock_ahead', `${topic}: ${shown}`, { retry: true, shown, cause });
}
