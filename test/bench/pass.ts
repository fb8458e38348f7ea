/**
 * A pass of TRON's watcher over many deposit addresses: the time to pick addresses, and whether
 * memory grows.
 */
import { createServer, type Server } from 'node:http';
import { accountAt, XPUB } from '../support/deposit-log.ts';
import { silentLog, testKafka } from '../support/kafka.ts';
import { startStack, type ServiceHandle, type Stack } from '../support/stack.ts';
import { until } from '../support/until.ts';
import { DEPOSIT_ADDRESSES, TRON_TRANSFERS } from '../../schemas/topics.ts';
import {
  depositAddressEventKey,
  type DepositAddressEvent,
} from '../../schemas/deposit.addresses/events.ts';
import type { Codec } from '../../services/runtime/kafka/codec.ts';
import { ensureTopics } from '../../services/runtime/kafka/topics.ts';
import { KafkaWriter } from '../../services/runtime/kafka/writer.ts';
import { openReader, type ReaderPool } from '../../services/runtime/postgres/pool.ts';
import { ReadModel } from '../../services/tron-watcher/read-model.ts';
import { TransferLog } from '../../services/tron-watcher/transfer-log.ts';
import { say, type Bench } from './bench.ts';
import { vacuum } from './databases.ts';
import { residentMemory } from './process-figures.ts';
import { median, percentile, type BenchReport } from './report.ts';
import { openCodec } from '../support/codec.ts';

const PARTITIONS = Array.from({ length: TRON_TRANSFERS.partitions }, (_, partition) => partition);
const PASS_ADDRESSES = 50;
const GOAL_MS = 20;
const DAY_MS = 86_400_000;
const APPEND_RECORDS = 1_000;
/** One in so many is hot: somebody looked at it today. */
const HOT_EVERY = 100;
/** Samples of the process' memory, over the passes. */
const SAMPLES = 100;
/** Share of the passes that only warms the process up. */
const WARM_UP = 0.2;

/** Not counted: connections and plans are made. */
const WARM_UP_PICKS = 20;

type Options = Readonly<Record<'addresses' | 'picks' | 'passes', number>>;

export const pass: Bench<keyof Options> = {
  about: "TRON's watcher at many addresses: picking those of a pass, and its memory",
  options: {
    addresses: { about: 'deposit addresses', default: 100_000 },
    picks: { about: 'passes picked, each from what the one before has left', default: 300 },
    passes: { about: 'passes of the watcher as a process', default: 1_000 },
  },
  run: benchPass,
};

interface World {
  readonly stack: Stack;
  readonly codec: Codec;
  readonly writer: KafkaWriter;
  readonly reader: ReaderPool;
  readonly model: ReadModel;
  readonly transfers: TransferLog;
}

async function benchPass(options: Options): Promise<BenchReport> {
  const stack = await startStack();
  const log = silentLog();
  const kafka = testKafka(stack.addresses);
  const writer = new KafkaWriter(kafka, { log, signal: new AbortController().signal });
  const reader = openReader(
    { ...stack.addresses, statement_timeout_ms: 60_000, connections_max: 2 },
    'bench',
    log,
  );
  try {
    await ensureTopics(kafka, [DEPOSIT_ADDRESSES, TRON_TRANSFERS]);
    const codec = await openCodec(stack.addresses.registry_url, [
      DEPOSIT_ADDRESSES,
      TRON_TRANSFERS,
    ]);
    const transfers = new TransferLog({ writer, codec, onAppended: () => undefined });
    const world = { stack, codec, writer, reader, model: new ReadModel(reader), transfers };
    await fill(world, options.addresses);
    const picked = await pickAgainAndAgain(world, options.picks);
    const resident = await watchAgainAndAgain(stack, options.passes);
    return reportOf(options, picked, resident);
  } finally {
    await reader.close();
    await writer.close();
    await stack.stop();
  }
}

function reportOf(
  { addresses, passes }: Options,
  picked: readonly number[],
  resident: readonly number[],
): BenchReport {
  const settled = resident.slice(Math.floor(resident.length * WARM_UP));
  const fifth = Math.max(1, Math.floor(settled.length / 5));
  const [first, last] = [median(settled.slice(0, fifth)), median(settled.slice(-fifth))];
  return {
    bench: 'pass',
    about: `${addresses.toLocaleString('en')} deposit addresses, one in ${HOT_EVERY} hot; ${PASS_ADDRESSES} a pass`,
    measured: [
      one('picking those of a pass, p50', 'ms', percentile(picked, 0.5)),
      one('picking those of a pass, p99', 'ms', percentile(picked, 0.99)),
      one('picking those of a pass, slowest', 'ms', Math.max(...picked)),
      one("the watcher's memory, its first fifth after the warm-up", 'MiB', first),
      one(
        `the watcher's memory, its last fifth of ${passes.toLocaleString('en')} passes`,
        'MiB',
        last,
      ),
      one("the watcher's memory, most", 'MiB', Math.max(...resident)),
    ],
    ratios: [
      {
        what: `picking those of a pass, p99 / ${GOAL_MS} ms`,
        ratio: percentile(picked, 0.99) / GOAL_MS,
        goal: '<= 1',
      },
      { what: 'memory in the last fifth / in the first', ratio: last / first, goal: '<= 1.1' },
    ],
  };
}

function one(what: string, unit: string, value: number): BenchReport['measured'][number] {
  return { what, unit, rounds: [value] };
}

/** As if all addresses had been requested two days ago and checked since, some of them today. */
async function fill(world: World, addresses: number): Promise<void> {
  const { stack, writer, codec, reader, transfers, model } = world;
  say(`${addresses} requests go into the log`);
  const at = Date.now();
  const events: DepositAddressEvent[] = [
    { type: 'SchemePinned', scheme: 'hd', extended_public_key: XPUB, pinned_at: at },
  ];
  for (let index = 0; index < addresses; index++) {
    events.push({
      type: 'AddressRequested',
      clt_address: accountAt(index),
      requested_at: at - 2 * DAY_MS,
    });
    if (index % HOT_EVERY === 0)
      events.push({ type: 'PanelOpened', clt_address: accountAt(index), opened_at: at });
  }
  for (let from = 0; from < events.length; from += APPEND_RECORDS) {
    const entries = events.slice(from, from + APPEND_RECORDS).map((event) => ({
      key: depositAddressEventKey(event),
      value: codec.encode(event),
      headers: { event_type: event.type },
      timestamp: at,
    }));
    await writer.append(DEPOSIT_ADDRESSES.name, 0, entries);
  }
  const projector = await stack.spawnService('projector-watch');
  await projector.ready();
  say('the read model has them; each is asked about once');
  const rows = await reader.rows({
    name: 'bench_addresses',
    text: 'SELECT deposit_address, partition FROM watch.addresses',
    values: [],
  });
  const known = rows.map(([address, partition]) => ({
    address: Buffer.from(String(address).slice(2), 'hex'),
    partition: Number(partition),
  }));
  if (known.length !== addresses)
    throw new Error(`there are ${known.length} addresses instead of ${addresses}`);
  for (const [partition, own] of Map.groupBy(known, (each) => each.partition)) {
    for (let from = 0; from < own.length; from += PASS_ADDRESSES) {
      const checked = own
        .slice(from, from + PASS_ADDRESSES)
        .map(({ address }) => ({ address, until: at }));
      // spread over the last hours, as passes would have
      await transfers.append(partition, [
        {
          type: 'AddressesChecked',
          checked_at: at - 10 * PASS_ADDRESSES * addresses + from,
          checked,
        },
      ]);
    }
  }
  await until(
    async () => transfers.isFolded(await model.folded()),
    'the read model to have the checks',
  );
  const { postgres_url: writer_url, postgres_reader_url: reader_url } = stack.addresses;
  await vacuum(stack, { name: new URL(writer_url).pathname.slice(1), writer_url, reader_url });
}

/**
 * As the watcher does: reads its lists, appends the picked ones as checked, and waits until the
 * read model has them.
 */
async function pickAgainAndAgain(
  { model, transfers }: World,
  picks: number,
): Promise<readonly number[]> {
  say(`${picks} passes are picked`);
  const took: number[] = [];
  for (let pick = -WARM_UP_PICKS; pick < picks; pick++) {
    const begun = performance.now();
    const [hot, turns] = await Promise.all([
      model.hot(PARTITIONS, PASS_ADDRESSES, Date.now()),
      model.inTurn(PARTITIONS, PASS_ADDRESSES),
      model.longestDue(PARTITIONS),
    ]);
    if (pick >= 0) took.push(performance.now() - begun);
    const first = hot.slice(0, PASS_ADDRESSES - 10);
    const isFirst = new Set(first.map(({ address }) => address.toString('latin1')));
    const others = turns.filter(({ address }) => !isFirst.has(address.toString('latin1')));
    const picked = [...first, ...others].slice(0, PASS_ADDRESSES);
    if (picked.length !== PASS_ADDRESSES)
      throw new Error(`${picked.length} addresses were picked instead of ${PASS_ADDRESSES}`);
    const at = Date.now();
    for (const [partition, own] of Map.groupBy(picked, (each) => each.partition)) {
      const checked = own.map(({ address }) => ({ address, until: at }));
      await transfers.append(partition, [{ type: 'AddressesChecked', checked_at: at, checked }]);
    }
    await until(
      async () => transfers.isFolded(await model.folded()),
      'the read model to have the checks',
    );
  }
  return took;
}

/**
 * Resident memory of the watcher in MiB over this many passes against a provider without transfers.
 */
async function watchAgainAndAgain(stack: Stack, passes: number): Promise<readonly number[]> {
  say(`the watcher makes ${passes} passes`);
  const provider = await openProvider();
  const watcher = await stack.spawnService('tron-watcher', {
    APP_TRON_URL: provider.url,
    APP_TRON_REQUESTS_PER_SECOND: '10000',
    APP_PASS_EVERY_MS: '10',
    APP_COLD_EVERY_MS: '0',
    APP_LOG_LEVEL: 'warn',
  });
  try {
    await watcher.ready();
    const resident: number[] = [];
    for (let sample = 1; sample <= SAMPLES; sample++) {
      const next = (passes * sample) / SAMPLES;
      await until(async () => (await passesOf(watcher)) >= next, `pass ${next} of the watcher`);
      resident.push(residentMemory(watcher.pid));
    }
    return resident;
  } finally {
    await watcher.kill('SIGTERM');
    provider.server.close();
  }
}

async function passesOf({ ops_url: url }: ServiceHandle): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return Number(/^tron_pass_seconds_count\S* ([0-9]+)$/m.exec(text)?.[1] ?? 0);
}

/** Answers at once: a newest block, empty lists, balances of nothing. */
async function openProvider(): Promise<{ readonly server: Server; readonly url: string }> {
  const server = createServer((request, response) => {
    request.resume();
    response
      .setHeader('content-type', 'application/json')
      .end(JSON.stringify(answerTo(request.url ?? '')));
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the provider has no port');
  return { server, url: `http://127.0.0.1:${address.port}` };
}

function answerTo(path: string): object {
  if (path.startsWith('/v1/accounts/'))
    return { data: [], success: true, meta: { at: Date.now(), page_size: 0 } };
  if (path.endsWith('/getnowblock'))
    return { block_header: { raw_data: { number: 70_000_000, timestamp: Date.now() } } };
  return { result: { result: true }, constant_result: ['0'.repeat(64)] };
}
