/**
 * Chained logs whose topics were replaced on disk by others of the same names (LOG-8), by somebody
 * who copies everything that he does not change, to the last byte. Each reader that can find it
 * does, and names what it found; so does `ops audit`.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { hashOfValue, headAfter, NO_RECORDS } from '../../../schemas/hash-chain.ts';
import {
  CHAIN_BLOCKS,
  DEPOSIT_ADDRESSES,
  RESERVE_RUNS,
  TREASURY_LEDGER,
  type Topic,
} from '../../../schemas/topics.ts';
import { toTronAddress } from '../../../schemas/tron-address.ts';
import { AddressLog, linkedEntries } from '../../../services/deposit-gateway/address-log.ts';
import { DepositAddresses } from '../../../services/deposit-gateway/deposit-addresses.ts';
import { AUDITED_TOPICS } from '../../../services/ops/audit/audit.ts';
import { LedgerLog } from '../../../services/ops/deposit/ledger-log.ts';
import { Runner, type RunnerStatus } from '../../../services/projector/engine/runner.ts';
import { PROJECTIONS, type Named } from '../../../services/projector/registry.ts';
import type { Codec } from '../../../services/runtime/kafka/codec.ts';
import { readTopicEnds } from '../../../services/runtime/kafka/ends.ts';
import type { LogRecord } from '../../../services/runtime/kafka/record.ts';
import { ensureTopics } from '../../../services/runtime/kafka/topics.ts';
import { openReader } from '../../../services/runtime/postgres/pool.ts';
import { Metrics } from '../../../services/runtime/process/metrics.ts';
import { openNotificationPublisher } from '../../../services/runtime/redis.ts';
import { Reconciliation } from '../../../services/treasury/reconciliation/reconciliation.ts';
import { openTables } from '../../projections/deposits/applied.ts';
import { opsHere } from '../../services/ops/operator.ts';
import {
  expectDeposits,
  expectHalted,
  openWorld,
  requests,
  schemePinned,
  startTreasury,
  transferTo,
  type World,
} from '../../services/treasury/world.ts';
import { ChainByHand } from '../../support/chain-by-hand.ts';
import { freshDatabase, type DatabaseUrls } from '../../support/database.ts';
import { accountAt, CUSTODY, depositKey, USDT_CONTRACT } from '../../support/deposit-log.ts';
import { openDevnet } from '../../support/devnet.ts';
import {
  appendAll,
  never,
  readAll,
  rewriteTopic,
  silentLog,
  type TestKafka,
} from '../../support/kafka.ts';
import { plainHead, storedAs } from '../../support/plain-chain.ts';
import { startOwnKafka } from '../../support/own-kafka.ts';
import type { Stack } from '../../support/stack.ts';
import { openCodec } from '../../support/codec.ts';
import { HANG_MS } from '../../support/limits.ts';

const PAID_ACCOUNTS = 4;
const ACCOUNTS = 5;
const RUNS = 5;

/** Readers and the command read the topics under their declared names. */
let stack: Stack;
beforeAll(async () => {
  stack = await startOwnKafka();
});
afterAll(() => stack?.stop());

const CHAINED = [DEPOSIT_ADDRESSES, TREASURY_LEDGER, RESERVE_RUNS];

function readersOf(topic: Topic): readonly Named[] {
  return PROJECTIONS.filter(({ topics }) => topics.includes(topic.name));
}

interface Projecting {
  readonly status: () => RunnerStatus;
  readonly stop: () => Promise<void>;
}

/** A projector from its checkpoint on; from offset 0 in an empty database. */
async function project(
  { kafka, codec }: Pick<Logs, 'kafka' | 'codec'>,
  projection: Named,
  { writer_url: writerUrl }: DatabaseUrls,
): Promise<Projecting> {
  const pool = await openTables(writerUrl, projection);
  const stopping = new AbortController();
  const { signal } = stopping;
  const metrics = new Metrics('test');
  const log = silentLog();
  const notifications = openNotificationPublisher(stack.addresses, 'test', log, metrics);
  const own = { kafka, codec, pool, notifications, metrics, log, signal };
  const runner = projection.with((typed) => {
    const typedRunner = new Runner({ projection: typed, ...own });
    return { status: () => typedRunner.status, ended: typedRunner.run() };
  });
  const stop = async (): Promise<void> => {
    stopping.abort();
    await runner.ended;
    await notifications.close();
    await pool.end();
  };
  return { status: runner.status, stop };
}

/** All projectors that read the topic. */
async function projectorsHalt(
  logs: Logs,
  topic: Topic,
  { database, why }: { readonly database: DatabaseUrls; readonly why: RegExp },
): Promise<void> {
  const projectors = await Promise.all(
    readersOf(topic).map((projection) => project(logs, projection, database)),
  );
  for (const { status, stop } of projectors) {
    await expect
      .poll(status, { interval: 20 })
      .toMatchObject({ status: 'halted', reason: expect.stringMatching(why) });
    await stop();
  }
}

/** The logs as they are written, and everything that was noted of them then. */
interface Logs {
  readonly kafka: TestKafka;
  readonly world: World;
  readonly codec: Codec;
  readonly tron_url: string;
  /** of the projectors that have applied all of them */
  readonly database: DatabaseUrls;
  readonly stack_file: string;
  readonly records: ReadonlyMap<Topic, readonly LogRecord[]>;
  /** by the topic's name, as `ops audit` printed them */
  readonly heads: ReadonlyMap<string, string>;
}

let written: Promise<Logs> | undefined;

/** Writes the logs, and projects and audits them, before the first test. */
function logsOnce(): Promise<Logs> {
  return (written ??= writeLogs());
}

async function writeLogs(): Promise<Logs> {
  const { addresses, folder } = stack;
  const world = await openWorld(addresses, true);
  const { kafka } = world;
  await ensureTopics(kafka, AUDITED_TOPICS);
  const codec = await openCodec(addresses.registry_url, AUDITED_TOPICS);
  const opened = [schemePinned(depositKey().fingerprint), ...requests(0, ACCOUNTS)];
  await world.appendRaw(
    DEPOSIT_ADDRESSES,
    0,
    linkedEntries(codec, opened.map(placed), NO_RECORDS, 'trace'),
  );
  const treasury = startTreasury(world);
  for (let index = 0; index < PAID_ACCOUNTS; index++) {
    await world.observe(transferTo(index, 5_000_000n));
    await expectDeposits(world, { ledger_of: treasury, deposits: index + 1 });
  }
  await treasury.stop();
  const chain = new ChainByHand();
  chain.append({ effects: [{ address: accountAt(0), kind: 'mint', delta: 1n }] });
  chain.finalize();
  const blocks = chain.log.map((event) => ({
    key: '0',
    value: codec.encode(event),
    headers: {},
    timestamp: 1,
  }));
  await appendAll(kafka, CHAIN_BLOCKS.name, blocks);

  const { tron_url } = await openDevnet();
  const stack_file = join(folder.root, 'rewritten.json');
  const database = await freshDatabase(addresses);
  const { reader_url: readerUrl } = database;
  const usdt_contract = toTronAddress(USDT_CONTRACT);
  writeFileSync(
    stack_file,
    JSON.stringify({ ...addresses, postgres_reader_url: readerUrl, usdt_contract }),
  );
  const records = new Map<Topic, readonly LogRecord[]>();
  const heads = new Map<string, string>();
  const logs = { world, kafka, codec, tron_url, database, stack_file, records, heads };
  const reconciling = reconcile(logs, 50);
  await expect.poll(() => endOf(logs, RESERVE_RUNS), { interval: 50 }).toBeGreaterThanOrEqual(RUNS);
  await reconciling.stop();

  for (const topic of CHAINED) records.set(topic, await readAll(kafka, topic.name));
  const projections = [...new Set(CHAINED.flatMap(readersOf))];
  const projectors = await Promise.all(
    projections.map((projection) => project(logs, projection, database)),
  );
  const ends = await Promise.all(projections.map(({ topics }) => readTopicEnds(kafka, topics)));
  const client = new Client({ connectionString: database.writer_url });
  await client.connect();
  const applied = 'SELECT sum(next_offset)::int AS records FROM projector.checkpoints';
  await expect
    .poll(async () => (await client.query(applied)).rows, { interval: 20 })
    .toEqual([{ records: ends.flat().reduce((sum, { high }) => sum + Number(high), 0) }]);
  await client.end();
  for (const { stop } of projectors) await stop();
  const audited = await opsHere(['audit', '--json', '--stack', stack_file]);
  expect(audited).toMatchObject({ code: 0, stderr: '' });
  const { heads: printed }: { readonly heads: readonly { topic: string; head: string }[] } =
    JSON.parse(audited.stdout);
  for (const { topic, head } of printed) heads.set(topic, head);
  return logs;
}

function placed<Event extends object>(event: Event, sequence: number): Event {
  return { ...event, sequence };
}

async function endOf({ kafka }: Logs, topic: Topic): Promise<number> {
  const [end] = await readTopicEnds(kafka, [topic.name]);
  return Number(end?.high ?? 0n);
}

interface Reconciling {
  readonly working: Reconciliation;
  readonly stop: () => Promise<void>;
}

/** The treasury's part that reads the ledger and all runs, and makes one every so often. */
function reconcile({ kafka, codec, tron_url }: Logs, every = 86_400_000): Reconciling {
  const config = {
    tron_url,
    tron_api_key: '',
    usdt_contract: USDT_CONTRACT,
    custody_addresses: [CUSTODY],
    reserve_tolerance: 0n,
    reconcile_requests_per_second: 1_000,
    reconcile_requests_per_day: 0,
    arriving_max_ms: 86_400_000,
    attempts_max: 2,
    backoff_ms_min: 1,
    backoff_ms_max: 5,
    reconcile_every_ms: every,
    // the blocks of this chain are old
    reconcile_age_max_ms: 0,
  };
  const stopping = new AbortController();
  const { signal } = stopping;
  const how = { log: silentLog(), metrics: new Metrics('test'), source: 'test', confirm_ms: 1 };
  const working = new Reconciliation({ config, kafka, codec, signal, ...how });
  const ended = working.run();
  const stop = async (): Promise<void> => {
    stopping.abort();
    await ended;
  };
  onTestFinished(stop);
  return { working, stop };
}

async function reconcilingHalts(logs: Logs, why: RegExp): Promise<void> {
  const { working } = reconcile(logs);
  await expect.poll(() => working.problem?.message, { interval: 20 }).toMatch(why);
  expect(working.mintingAllowed()).toBe(working.problem?.message);
}

const TIMES = ['requested_at', 'decided_at', 'run_at'];

/** The event of another time, at the same place and with the same link. */
function falsified(event: Decoded): Decoded {
  const time = TIMES.find((name) => name in event);
  if (time === undefined) throw new Error(`${event.type} has no time`);
  return Object.assign(event, { [time]: 1 });
}

type Decoded = ReturnType<Codec['decode']>;
type Rewrite = (records: readonly LogRecord[], codec: Codec) => readonly LogRecord[];

const edited = (record: LogRecord, codec: Codec, edit: (event: Decoded) => Decoded): LogRecord => ({
  ...record,
  value: codec.encode(edit(codec.decode(record.value))),
});

/** The record at this index; from the end when it is negative. */
const changed =
  (index: number): Rewrite =>
  (records, codec) => {
    const record = records.at(index);
    if (record === undefined) throw new Error('the log is too short');
    return records.with(index, edited(record, codec, falsified));
  };

/** Each says that it stands where it does. */
const swapped: Rewrite = (records, codec) => {
  const [zero, one, other, ...rest] = records;
  if (zero === undefined || one === undefined || other === undefined) return records;
  return [zero, other, one, ...rest].map((record, sequence) =>
    edited(record, codec, (event) => placed(event, sequence)),
  );
};

/** With another record, and new hashes after it: a chain of its own. */
const anew: Rewrite = (records, codec) => {
  let previous = NO_RECORDS;
  return changed(1)(records, codec).map((record) => {
    const linked = edited(record, codec, (event) => Object.assign(event, { previous }));
    previous = headAfter(previous, hashOfValue(linked.value));
    return linked;
  });
};

/** The gateway reads the topic, and compares it with the tables before it shows an address. */
async function nextAddressShows({ database }: Logs): Promise<void> {
  const log = silentLog();
  const { addresses } = stack;
  const pool = { statement_timeout_ms: HANG_MS, connections_max: 1 };
  const reader = openReader({ ...pool, postgres_reader_url: database.reader_url }, 'test', log);
  const common = { key: depositKey(), log, signal: never };
  const addressLog = new AddressLog({
    ...common,
    servers: { ...addresses, kafka_brokers: addresses.kafka_brokers.split(',') },
    topic: DEPOSIT_ADDRESSES,
  });
  await addressLog.opened();
  const gateway = new DepositAddresses({
    ...common,
    reader,
    address_log: addressLog,
    settings: { addresses_per_minute: 0, addresses_burst: 1, address_wait_ms: HANG_MS },
    now: Date.now,
    metrics: new Metrics('test'),
  });
  const opened = gateway.open(accountAt(ACCOUNTS), 'a client');
  await expect(opened).rejects.toMatchObject({ code: 'address_forged' });
  await addressLog.close();
  await reader.close();
}

/** The topic that is not as it was written. */
let spoilt: Topic | undefined;

/** Puts other records in the place of a topic's; all other topics are as they were written. */
async function rewrite({ kafka, codec, records }: Logs, topic: Topic, how: Rewrite): Promise<void> {
  const restored = spoilt === topic ? undefined : spoilt;
  spoilt = topic;
  for (const each of [restored, topic]) {
    if (each === undefined) continue;
    const original = records.get(each) ?? [];
    const after = each === topic ? how(original, codec) : original;
    await rewriteTopic(kafka, each.name, () => after, each.config);
  }
}

interface Way {
  readonly how: string;
  readonly rewrite: Rewrite;
}

interface Case extends Way {
  readonly topic: Topic;
  readonly name: string;
}

function eachTopic<Of extends Way>(ways: readonly Of[]): readonly (Of & Case)[] {
  return CHAINED.flatMap((topic) => ways.map((way) => ({ ...way, topic, name: topic.name })));
}

const brokenAt = (offset: number): RegExp =>
  new RegExp(
    `the record at offset ${offset} cannot be applied: it names [0-9a-f]{64} as the hash of the record before .* it is [0-9a-f]{64}: a record before it was changed, removed or moved`,
  );

// it waits for the logs
test('a head of the ledger that was noted is found in the log that has grown', async () => {
  const { stack_file, records } = await logsOnce();
  const before = (records.get(TREASURY_LEDGER) ?? []).slice(0, -1);
  const head = plainHead(before.map(({ value }) => storedAs({}, value))).toString('hex');
  const { code, stdout } = await opsHere(['audit', '--head', head, '--stack', stack_file]);
  expect(stdout).toContain(
    `seen      treasury.ledger/0, offsets 0 to ${before.length - 1}: the same records as when --head was noted`,
  );
  expect(code).toBe(0);
});

test.each(
  eachTopic([
    { how: 'with a changed record', rewrite: changed(2), why: brokenAt(3) },
    { how: 'with two records in another order', rewrite: swapped, why: brokenAt(1) },
  ]),
)('$name $how halts whoever reads it, and ends the audit', async ({ topic, rewrite: how, why }) => {
  const logs = await logsOnce();
  const { kafka, codec, stack_file } = logs;
  await rewrite(logs, topic, how);
  const auditing = opsHere(['audit', '--stack', stack_file]);
  const log = new LedgerLog({ kafka, codec, log: silentLog() });
  await Promise.all([
    projectorsHalt(logs, topic, { database: await freshDatabase(stack.addresses), why }),
    topic === RESERVE_RUNS ? undefined : expectHalted(startTreasury(logs.world), why),
    topic === DEPOSIT_ADDRESSES ? undefined : reconcilingHalts(logs, why),
    topic === TREASURY_LEDGER ? expect(log.catchUp()).rejects.toThrow(why) : undefined,
  ]);
  expect(await auditing).toEqual({
    code: 2,
    stdout: '',
    // lines of progress may come before
    stderr: expect.stringMatching(new RegExp(`${topic.name}/0: .*${why.source}[^]*restore that`)),
  });
});

test.each(
  eachTopic([
    { how: 'without its last record', rewrite: (records) => records.slice(0, -1), lost: 1 },
    { how: 'with another last record', rewrite: changed(-1), lost: 0 },
    { how: 'written anew with new hashes', rewrite: anew, lost: 0 },
  ]),
)(
  '$name $how is found by whoever noted its head or its end, and by the audit',
  async ({ topic, rewrite: how, lost }) => {
    const logs = await logsOnce();
    const { database, stack_file } = logs;
    const end = logs.records.get(topic)?.length ?? 0;
    const head = logs.heads.get(topic.name) ?? '';
    await rewrite(logs, topic, how);
    const auditing = opsHere(['audit', '--head', head, '--stack', stack_file]);
    const why = new RegExp(
      lost > 0
        ? `the log ends at offset ${end - lost}, below the ${end}`
        : `the record at offset ${end - 1} is not the one that was applied`,
    );
    const published = lost > 0 ? why : / published [0-9a-f]{64} .* it is [0-9a-f]{64}/;
    await Promise.all([
      projectorsHalt(logs, topic, { database, why }),
      topic === TREASURY_LEDGER ? reconcilingHalts(logs, published) : undefined,
    ]);
    const { code, stdout } = await auditing;
    expect(stdout).toContain('VIOLATED  no log has the head of --head');
    expect(stdout).toMatch(new RegExp(`^VIOLATED  I7 at ${topic.name}/0@${end}: `, 'm'));
    expect(code).toBe(2);
    if (topic === DEPOSIT_ADDRESSES) await nextAddressShows(logs);
  },
);
