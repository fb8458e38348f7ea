/** `ops tail` of a long topic to a file: records a second, and whether memory grows. */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createReadStream, mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { depositIdOf } from '../../schemas/deposit-id.ts';
import { CHAIN_BLOCKS, TREASURY_LEDGER } from '../../schemas/topics.ts';
import type { TreasuryEvent } from '../../schemas/treasury.ledger/events.ts';
import { openKafka } from '../../services/runtime/kafka/client.ts';
import { ensureTopics } from '../../services/runtime/kafka/topics.ts';
import { KafkaWriter } from '../../services/runtime/kafka/writer.ts';
import { openLog } from '../../services/runtime/process/log.ts';
import { toEntries } from '../../services/treasury/ledger/ledger-writer.ts';
import { confirmedEvent, depositEvents } from '../support/deposit-events.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { say, type Bench } from './bench.ts';
import { residentMemory } from './process-figures.ts';
import { median, type BenchReport } from './report.ts';
import { openCodec } from '../support/codec.ts';

const MAIN = join(import.meta.dirname, '../../services/ops/main.ts');
const BATCH = 10_000;
/** As the ledger, without a flush to the disk for each record. */
const TOPIC = { ...TREASURY_LEDGER, name: 'bench.ledger', config: CHAIN_BLOCKS.config };
/** As `npm run ops` has them. */
const FLAGS = ['--max-semi-space-size=64', '--disable-warning=TimeoutNegativeWarning'];
const LOOK_EVERY_MS = 50;
/**
 * The share of the time before V8 has reached its size: some three seconds, for any number of
 * records.
 */
const WARM_UP = 0.4;

const log = openLog({ service: 'bench', level: 'error' });

type Option = 'records' | 'rounds' | 'addresses';

export const tail: Bench<Option> = {
  about: 'ops tail of a topic to a file, without a filter: records a second and memory',
  options: {
    records: { about: 'of treasury.ledger', default: 1_000_000 },
    rounds: { about: 'of the whole topic', default: 3 },
    addresses: { about: 'deposit addresses that they are of', default: 200_000 },
  },
  run,
};

async function run({
  records,
  rounds,
  addresses,
}: Readonly<Record<Option, number>>): Promise<BenchReport> {
  const stack = await startStack();
  const folder = mkdtempSync(join(tmpdir(), 'clt-bench-tail-'));
  try {
    await fill(stack, records, addresses);
    const tenth = Math.max(1, Math.floor(records / 10));
    const file = join(folder, 'tail.ndjson');
    const part = await tailOnce(stack, tenth, file);
    await check(file, tenth);
    const whole: Tailed[] = [];
    for (let round = 0; round < rounds; round++) {
      const tailed = await tailOnce(stack, records, file);
      await check(file, records);
      say(
        `${records} records in ${tailed.seconds.toFixed(1)} s, ${tailed.first.toFixed(0)}, then ${tailed.last.toFixed(0)} MiB`,
      );
      whole.push(tailed);
    }
    const rates = whole.map(({ seconds }) => records / seconds);
    return {
      bench: 'tail',
      about: `${records} records of treasury.ledger of ${addresses} addresses to a file, from the start of the process to its end`,
      measured: [
        { what: 'ops tail --json', unit: 'records/s', rounds: rates },
        {
          what: 'resident memory, the first fifth after the warm-up',
          unit: 'MiB',
          rounds: whole.map(({ first }) => first),
        },
        {
          what: 'resident memory, the last fifth',
          unit: 'MiB',
          rounds: whole.map(({ last }) => last),
        },
        { what: 'resident memory at the most', unit: 'MiB', rounds: whole.map(({ most }) => most) },
        {
          what: `resident memory at the most, of ${tenth} records`,
          unit: 'MiB',
          rounds: [part.most],
        },
      ],
      ratios: [
        { what: 'records a second / 50,000', ratio: median(rates) / 50_000, goal: '>= 1' },
        {
          what: 'memory in the last fifth / in the first',
          ratio: median(whole.map(({ first, last }) => last / first)),
          goal: '<= 1.1',
        },
      ],
    };
  } finally {
    await stack.stop();
    rmSync(folder, { recursive: true });
  }
}

/** Deposits that are confirmed, requested and credited, in turns. */
function eventOf(at: number, addresses: number): TreasuryEvent {
  const tx_id = createHash('sha256')
    .update(String(Math.floor(at / 3)))
    .digest();
  const address = createHash('sha1')
    .update(String(Math.floor(at / 3) % addresses))
    .digest();
  const sequence = at;
  const amount = BigInt(tx_id.readUInt32BE(0));
  if (at % 3 === 0)
    return confirmedEvent({
      sequence,
      tx_id,
      deposit_address: address,
      clt_address: address,
      gross: amount + 2_000_000n,
      credit: amount,
    });
  const events = depositEvents(depositIdOf(tx_id, 0));
  const hash = tx_id.toReversed();
  if (at % 3 === 1)
    return {
      ...events.intended({ to: address, amount, nonce: at, tx_hash: Buffer.from(hash) }),
      sequence,
    };
  return { ...events.credited(Buffer.from(hash)), sequence };
}

async function fill(stack: Stack, records: number, addresses: number): Promise<void> {
  const kafka = openKafka({ kafka_brokers: [stack.addresses.kafka_brokers] }, 'bench', log);
  await ensureTopics(kafka, [TOPIC]);
  const codec = await openCodec(stack.addresses.registry_url, [TREASURY_LEDGER]);
  const writer = new KafkaWriter(kafka, { log, signal: new AbortController().signal });
  let appended: Promise<unknown> = Promise.resolve();
  for (let from = 0; from < records; from += BATCH) {
    const events = Array.from({ length: Math.min(BATCH, records - from) }, (_, at) =>
      eventOf(from + at, addresses),
    );
    const entries = toEntries(codec, events);
    await appended;
    appended = writer.append(TOPIC.name, 0, entries);
  }
  await appended;
  await writer.close();
  say(`${records} records written`);
}

interface Tailed {
  readonly seconds: number;
  /** MiB: medians of the first fifth after the warm-up and of the last one, and the most */
  readonly first: number;
  readonly last: number;
  readonly most: number;
}

async function tailOnce({ addresses }: Stack, records: number, file: string): Promise<Tailed> {
  const output = openSync(file, 'w');
  const begun = performance.now();
  const child = spawn(
    process.execPath,
    [...FLAGS, MAIN, 'tail', TOPIC.name, '--json', '--no-follow', '--to', String(records)],
    {
      env: {
        ...process.env,
        APP_KAFKA_BROKERS: addresses.kafka_brokers,
        APP_REGISTRY_URL: addresses.registry_url,
      },
      stdio: ['ignore', output, 'inherit'],
    },
  );
  const resident: number[] = [];
  const look = setInterval(() => {
    const mebibytes = child.pid !== undefined && child.exitCode === null ? memoryOf(child.pid) : 0;
    if (mebibytes > 0) resident.push(mebibytes);
  }, LOOK_EVERY_MS);
  const [code]: unknown[] = await once(child, 'close');
  clearInterval(look);
  const seconds = (performance.now() - begun) / 1_000;
  if (code !== 0) throw new Error(`ops tail ended with ${String(code)}`);
  const settled = resident.slice(Math.floor(resident.length * WARM_UP));
  const fifth = Math.max(1, Math.floor(settled.length / 5));
  return {
    seconds,
    first: median(settled.slice(0, fifth)),
    last: median(settled.slice(-fifth)),
    most: Math.max(...resident),
  };
}

/** 0 of one that has just ended. */
function memoryOf(pid: number): number {
  try {
    return residentMemory(pid);
  } catch {
    return 0;
  }
}

/**
 * Checks that each record is there once and in order; some are parsed and compared with what was
 * written.
 */
async function check(file: string, records: number): Promise<void> {
  let at = 0;
  for await (const line of createInterface({ input: createReadStream(file) })) {
    const offset = /^\{"topic":"bench\.ledger","partition":0,"offset":"(\d+)"/.exec(line)?.[1];
    if (offset !== String(at)) throw new Error(`line ${at} is of offset ${offset ?? 'none'}`);
    if (at % 997 === 0) {
      const { value }: { value: { sequence: number } } = JSON.parse(line);
      if (value.sequence !== at) throw new Error(`line ${at} is of another record`);
    }
    at++;
  }
  if (at !== records) throw new Error(`${at} lines instead of ${records}`);
}
