/**
 * The idempotent producer of the client sends a batch again until it is acknowledged or refused.
 * When it gives up it takes another id, so that a batch sent again would be in the log twice: it
 * never gives up here. What the port calls a failure is an answer that takes long; the same batch
 * sent again waits for that answer.
 */
import { setTimeout as after } from 'node:timers/promises';
import {
  CompressionAlgorithms,
  ProduceAcks,
  Producer,
  type BaseOptions,
  type ProduceResult,
} from '@platformatic/kafka';
import type { Appended, Appender } from '../../../services/runtime/kafka/port.ts';
import type { LogEntry } from '../../../services/runtime/kafka/record.ts';
import { typed, type Through } from './typed.ts';

const COMPRESSED_BYTES_MIN = 4_096;
// no limit: the same batch is sent again, and waits for the same answer
const PATIENCE_MS = 1_000;

export class PlatformaticAppender implements Appender {
  readonly #producer: Producer;
  readonly #compressedMin: number;
  #pending:
    { readonly entries: readonly LogEntry[]; readonly sent: Promise<ProduceResult> } | undefined;

  constructor(options: BaseOptions, through: Through, compressed_min = COMPRESSED_BYTES_MIN) {
    const { retries: _retries, ...rest } = options;
    this.#producer = through(new Producer({ ...rest, idempotent: true }));
    this.#compressedMin = compressed_min;
  }

  async connect(): Promise<void> {
    await Promise.resolve();
  }

  async append(topic: string, partition: number, entries: readonly LogEntry[]): Promise<Appended> {
    const bytes = entries.reduce((sum, { value }) => sum + value.length, 0);
    if (this.#pending?.entries !== entries)
      this.#pending = { entries, sent: typed(this.#send(topic, partition, entries, bytes)) };
    const { sent } = this.#pending;
    const waiting = new AbortController();
    const late = after(PATIENCE_MS, false, { signal: waiting.signal }).catch(() => false);
    // no limit: as above
    const isSettled = await Promise.race([sent.then(yes, yes), late]);
    waiting.abort();
    // the outcome is kept for the next try, whenever it comes
    if (!isSettled) throw new Error(`no answer within ${PATIENCE_MS} ms`);
    this.#pending = undefined;
    const offset = (await sent).offsets?.[0]?.offset;
    if (offset === undefined) throw new Error('the acknowledgement names no offset');
    return { offset, bytes };
  }

  async disconnect(): Promise<void> {
    await this.#producer.close(true);
  }

  #send(
    topic: string,
    partition: number,
    entries: readonly LogEntry[],
    bytes: number,
  ): Promise<ProduceResult> {
    const { ZSTD, NONE } = CompressionAlgorithms;
    return this.#producer.send({
      acks: ProduceAcks.ALL,
      compression: bytes >= this.#compressedMin ? ZSTD : NONE,
      messages: entries.map(({ key, value, headers, timestamp }) => ({
        topic,
        partition,
        key: Buffer.from(key),
        value,
        headers: new Map(
          Object.entries(headers).flatMap(([name, values]) =>
            [values ?? []].flat().map((each) => [Buffer.from(name), Buffer.from(each)] as const),
          ),
        ),
        timestamp: BigInt(timestamp),
      })),
    });
  }
}

function yes(): true {
  return true;
}
