/**
 * The fault run of `ops tail`: a growing topic is read from its beginning and followed, while its
 * broker is killed, stopped and frozen. Each record must be printed once and in order, also those
 * written while the broker was away.
 */
import { setTimeout as after } from 'node:timers/promises';
import { depositIdOf } from '../../schemas/deposit-id.ts';
import { CHAIN_BLOCKS, TREASURY_LEDGER } from '../../schemas/topics.ts';
import type { Codec } from '../../services/runtime/kafka/codec.ts';
import { ensureTopics } from '../../services/runtime/kafka/topics.ts';
import { KafkaWriter } from '../../services/runtime/kafka/writer.ts';
import { readLogRange } from '../../services/runtime/kafka/range.ts';
import { readLogEnds } from '../../services/runtime/kafka/ends.ts';
import { toEntries } from '../../services/treasury/ledger/ledger-writer.ts';
import { depositEvents } from '../support/deposit-events.ts';
import { never, silentLog } from '../support/kafka.ts';
import { until } from '../support/until.ts';
import { recoveryLines, type FaultReport, type FaultRun } from './fault-run.ts';
import { onStack, type StackPlace, type System } from './system.ts';
import { TailReader } from './tail-reader.ts';
import { openCodec } from '../support/codec.ts';

const PARTITIONS = 2;
/** As the ledger, without a flush to the disk for each record. */
const TOPIC = {
  ...TREASURY_LEDGER,
  name: 'faults.tail',
  partitions: PARTITIONS,
  config: CHAIN_BLOCKS.config,
};
/** Records of one request. */
const BATCH = 25;
const AWAY_MS_MAX = 3_000;

const HOWS = ['killed', 'killed', 'stopped', 'frozen'] as const;
type How = (typeof HOWS)[number];

export const tail: FaultRun<'kills' | 'records'> = {
  about:
    'follows a growing topic with `ops tail`, and reads it from its beginning with another one, while the broker is killed, stopped and frozen;\n' +
    'each must print every record once and in order, those written after the restart too, and end with 0',
  options: {
    kills: { about: 'how many times the broker is struck', default: 20 },
    records: { about: 'written to each of two partitions around each blow', default: 5_000 },
  },
  run: ({ kills, records }, given) =>
    onStack({}, given, (system) => new TailRun(system).run(kills, records)),
};

interface Struck {
  readonly how: How;
  readonly away_ms: number;
  /** that the broker had acknowledged when it was struck, and after that */
  readonly before: number;
  readonly since: number;
  /** how many the reader from the beginning had not printed yet */
  readonly unread: number;
  /** from when the broker answered again until the follower had printed the last record */
  readonly recovery_ms: number;
}

class TailRun {
  readonly #system: System<StackPlace>;
  readonly #writers: readonly KafkaWriter[];
  #acknowledged = 0;
  /**
   * by partition, the offset after the last record; a batch may be in the log twice after its
   * broker has forgotten the writer
   */
  readonly #ends: number[] = Array.from({ length: PARTITIONS }, () => 0);

  constructor(system: System<StackPlace>) {
    this.#system = system;
    const { kafka } = system.place;
    this.#writers = Array.from(
      { length: PARTITIONS },
      () => new KafkaWriter(kafka, { log: silentLog(), signal: never }),
    );
  }

  async run(kills: number, records: number): Promise<FaultReport> {
    await ensureTopics(this.#system.place.kafka, [TOPIC]);
    const codec = await openCodec(this.#system.place.registry_url, [TREASURY_LEDGER]);
    const follower = this.#reader();
    const violations: string[] = [];
    const struck: Struck[] = [];
    let told = 0;
    for (let kill = 1; kill <= kills; kill++) {
      const end = kill * records;
      const beginner = this.#reader('--to', String(end));
      struck.push(await this.#round(codec, { from: end - records, end, follower, beginner }));
      await beginner.endedAt(this.#ends.map(() => end));
      violations.push(
        ...beginner.violations.map((what) => `from the beginning, blow ${kill}: ${what}`),
      );
      if (beginner.said.includes('waiting:')) told++;
      this.#system.progress(`blow ${kill} of ${kills}: ${lineOf(struck.at(-1))}`);
    }
    follower.stop();
    await follower.endedAt(this.#ends);
    violations.push(...follower.violations.map((what) => `following: ${what}`));
    for (const writer of this.#writers) await writer.close();
    violations.push(...(await this.#unlikeTheLog(codec, follower)));
    return {
      lines: [
        `the follower printed ${follower.read} records (${this.#acknowledged} written, ${follower.read - this.#acknowledged} that stand twice), each once and in order; ${kills} readers from the beginning ended by themselves, ${told} of them said that they waited`,
        ...recoveryLines(
          'from when the broker answers again until the last record is printed',
          struck.map(({ how, recovery_ms: ms }) => ({ struck: how, ms })),
        ),
      ],
      violations,
    };
  }

  #reader(...args: readonly string[]): TailReader {
    return new TailReader(this.#system.place.addresses, TOPIC.name, PARTITIONS, args);
  }

  async #round(
    codec: Codec,
    {
      from,
      end,
      follower,
      beginner,
    }: {
      readonly from: number;
      readonly end: number;
      readonly follower: TailReader;
      readonly beginner: TailReader;
    },
  ): Promise<Struck> {
    const begun = this.#acknowledged;
    const isReading = from > 0 && this.#system.random.chance(0.5);
    const share = this.#system.random.below(800) / 1_000;
    if (isReading)
      await beginner.reaches(() => beginner.read >= share * begun, 'some lines from the beginning');
    const writing = Promise.all(
      this.#writers.map((writer, partition) =>
        this.#write(codec, writer, { partition, from, end }),
      ),
    );
    writing.catch(() => undefined);
    // a start without brokers is refused, so both readers must begin before the faults
    for (const reader of [follower, beginner])
      await reader.reaches(() => reader.read > 0, 'its first line');
    const enough = isReading ? 0 : share * (end - from) * PARTITIONS;
    await until(
      () => this.#acknowledged - begun,
      'records to be acknowledged',
      (seen) => seen >= enough,
    );
    const how = this.#system.random.pick(HOWS);
    const away_ms = this.#system.random.below(AWAY_MS_MAX);
    const [before, unread] = [this.#acknowledged - begun, this.#acknowledged - beginner.read];
    await this.#strike(how, away_ms);
    const back = performance.now();
    await writing;
    await follower.reaches(() => follower.isAt(this.#ends), `record ${end} of each partition`);
    return {
      how,
      away_ms,
      before,
      since: this.#acknowledged - begun - before,
      unread,
      recovery_ms: Math.round(performance.now() - back),
    };
  }

  /** Resolves when the broker answers again. */
  async #strike(how: How, away_ms: number): Promise<void> {
    const { kafka } = this.#system.place.stack.servers;
    if (how === 'stopped') await kafka.stop();
    else await kafka.kill(how === 'killed' ? 'SIGKILL' : 'SIGSTOP');
    await after(away_ms);
    if (how === 'frozen') await kafka.kill('SIGCONT');
    else await kafka.start();
  }

  /** Compares the follower's output with the records of a consumer, without further faults. */
  async #unlikeTheLog(codec: Codec, follower: TailReader): Promise<readonly string[]> {
    const { kafka } = this.#system.place;
    const violations: string[] = [];
    for (const [partition, printed] of follower.numbers.entries()) {
      const { low, high } = await readLogEnds(kafka, TOPIC.name, partition);
      const written: number[] = [];
      await readLogRange(kafka, TOPIC.name, partition, low, high, ({ value }) => {
        const event = codec.decode(value);
        written.push('sequence' in event ? Number(event.sequence) : -1);
      });
      const at = written.findIndex((number, offset) => printed[offset] !== number);
      if (at !== -1)
        violations.push(
          `partition ${partition}: at offset ${at} stands record ${written[at]}, ${printed[at]} was printed`,
        );
      if (printed.length !== written.length)
        violations.push(
          `partition ${partition} has ${written.length} records, ${printed.length} were printed`,
        );
      const missing = new Set(printed).symmetricDifference(
        new Set(Array.from({ length: Math.max(...printed) + 1 }, (_, each) => each)),
      );
      if (missing.size > 0)
        violations.push(
          `partition ${partition}: records ${[...missing].slice(0, 5).join(', ')} were acknowledged and never printed`,
        );
    }
    return violations;
  }

  async #write(
    codec: Codec,
    writer: KafkaWriter,
    {
      partition,
      from,
      end,
    }: { readonly partition: number; readonly from: number; readonly end: number },
  ): Promise<void> {
    const { credited } = depositEvents(depositIdOf(Buffer.alloc(32, partition), partition));
    for (let at = from; at < end; at += BATCH) {
      const events = Array.from({ length: Math.min(BATCH, end - at) }, (_, each) => ({
        ...credited(Buffer.alloc(32, each)),
        sequence: at + each,
      }));
      const offset = await writer.append(TOPIC.name, partition, toEntries(codec, events));
      this.#ends[partition] = Number(offset) + events.length;
      this.#acknowledged += events.length;
    }
  }
}

function lineOf(struck: Struck | undefined): string {
  if (struck === undefined) return '';
  const { how, away_ms, before, since, unread, recovery_ms } = struck;
  return `${how} for ${away_ms} ms after ${before} records, ${since} after it; the reader from the beginning had ${unread} to go; all was printed ${recovery_ms} ms after its return`;
}
