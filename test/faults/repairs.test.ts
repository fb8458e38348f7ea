/**
 * A person repairs a whole system by what its messages and pages name, and nothing else. After each
 * repair every service is ready, every table equals its log, and the audit holds.
 */
import { cpSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Folder } from '../../infra/local/stack/folder.ts';
import { privateKeySigner, signIn } from '../../packages/wallet/src/index.ts';
import {
  CHAIN_BLOCKS,
  DEPOSIT_ADDRESSES,
  RESERVE_RUNS,
  SCHEMA_IDS,
  PROJECTOR_SKIPS,
  TOPICS,
  TREASURY_LEDGER,
  TRON_TRANSFERS,
} from '../../schemas/topics.ts';
import { readLogEnds } from '../../services/runtime/kafka/ends.ts';
import { ops, type Ended } from '../services/ops/operator.ts';
import {
  deleteRecordsBefore,
  readAll,
  testKafka,
  withRawAdmin,
  type TestKafka,
} from '../support/kafka.ts';
import { until } from '../support/until.ts';
import { Installation } from './installation.ts';

let stack: Installation;
let folder: Folder;
let kafka: TestKafka;

beforeAll(async () => {
  stack = await Installation.open();
  folder = stack.folder;
  await npmRun('up');
  kafka = testKafka({ kafka_brokers: `127.0.0.1:${stack.ports.kafka}` });
});
afterAll(() => stack.close());

/** Resolves to what it has printed. */
async function npmRun(...args: readonly string[]): Promise<string> {
  const { code, printed } = await stack.main(args);
  expect([code, printed]).toEqual([0, expect.anything()]);
  return printed;
}

function op(...words: readonly string[]): Promise<Ended> {
  return ops('--stack', folder.stack_file, ...words);
}

/** A new user pays, and gets CLT: this takes every service. */
async function credit(user: number): Promise<void> {
  const signer = privateKeySigner(`0x${String(user).padStart(64, '0')}`);
  const { token } = await signIn({ url: `${stack.url('hub')}/graphql`, chainId: 7777 }, signer);
  await stack.pay(token, '12345678');
  await until(
    async () => (await stack.deposits(token)).deposits.map(({ status }) => status),
    'the deposit to be credited',
    ([status]) => status === 'credited',
  );
}

interface Status {
  readonly attention: readonly string[];
  readonly services: readonly { readonly status: string }[];
}

async function faults(): Promise<readonly string[]> {
  const status: Status = JSON.parse((await op('status', '--json')).stdout);
  return status.attention;
}

/** Services that say the same share a line. */
function isSaidBy(name: string, fault: string): boolean {
  return fault.split(': ')[0]?.split(', ').includes(name) === true;
}

/** Types what `ops status` says, as long as it says something. */
async function followStatus(): Promise<readonly string[]> {
  const typed = new Set<string>();
  await until(
    async () => {
      const said = await faults();
      for (const fault of said) {
        const command = /ops (quarantine skip \S+) --actor NAME --reason TEXT/.exec(fault)?.[1];
        if (command === undefined || typed.has(command)) continue;
        const words = [...command.split(' '), '--actor', 'anna', '--reason', 'of a stranger'];
        expect(await op(...words)).toMatchObject({ code: 0 });
        typed.add(command);
      }
      return said;
    },
    'every service to go on',
    (said) => said.length === 0,
  );
  return [...typed];
}

async function untilNothingIsWrong(): Promise<void> {
  await until(faults, 'nothing to be wrong', (said) => said.length === 0);
}

async function expectWhole(): Promise<void> {
  await untilNothingIsWrong();
  expect(await op('quarantine', 'list')).toMatchObject({
    stdout: expect.not.stringMatching(/\bHALTS\b/) as unknown,
  });
  expect(await op('verify', 'all')).toMatchObject({ code: 0 });
  expect(await op('audit')).toMatchObject({ code: 0 });
}

/** The commands for this stack that a message names. */
function commandsIn(message: string): readonly string[] {
  const named = message.matchAll(/npx ops ([a-z ]+) --stack (\S+)/g);
  return [...named].flatMap(([, command = '', file]) =>
    file === folder.stack_file ? [command] : [],
  );
}

function pidOf(name: string): number {
  const { pids }: { readonly pids: Readonly<Record<string, number>> } = JSON.parse(
    readFileSync(folder.stack_file, 'utf8'),
  );
  return pids[name] ?? 0;
}

async function endOf(topic: string): Promise<bigint> {
  return (await readLogEnds(kafka, topic, 0)).high;
}

/** Appends as a stranger does. */
async function append(topic: string, values: readonly (Buffer | null)[]): Promise<void> {
  const producer = kafka.raw.producer();
  await producer.connect();
  const messages = values.map((value) => ({ key: '999999', value, partition: 0 }));
  await producer.send({ topic, messages });
  await producer.disconnect();
}

/** Projectors that read chain.blocks. */
const BLOCK_READERS = ['explorer', 'ride-market', 'series'];

/** Ids that no registry has, and no bytes. */
const GARBAGE = ['00deadbeef', '00ffffffff00', '000000270f00', ''].map((hex) =>
  Buffer.from(hex, 'hex'),
);

test('garbage in any topic stops only what has to wait for a person, and the commands that are named get everything going', async () => {
  await credit(1);
  const [ofLedger] = await readAll(kafka, TREASURY_LEDGER.name);
  await append(CHAIN_BLOCKS.name, [...GARBAGE, null, ofLedger?.value ?? null]);
  expect(await followStatus()).toHaveLength(GARBAGE.length + 2);

  // too many for one command each, among blocks
  const from = await endOf(CHAIN_BLOCKS.name);
  for (let times = 0; times < 3; times++) await append(CHAIN_BLOCKS.name, GARBAGE);
  const range = `${CHAIN_BLOCKS.name}/0@${from}-${(await endOf(CHAIN_BLOCKS.name)) - 1n}`;
  const many = await op('quarantine', 'skip', range, '--actor', 'anna', '--reason', 'garbage');
  expect(many).toMatchObject({ code: 0 });
  expect(many.stdout.match(/was decided now/g)).toHaveLength(3 * GARBAGE.length);
  await untilNothingIsWrong(); // else a record that was decided is named once more below

  for (const { name } of [DEPOSIT_ADDRESSES, TRON_TRANSFERS, TREASURY_LEDGER, RESERVE_RUNS])
    await append(name, [GARBAGE[0] ?? null, null]);
  for (const { name } of [SCHEMA_IDS, PROJECTOR_SKIPS]) await append(name, [...GARBAGE, null]);
  expect(await followStatus()).toHaveLength(8);
  await credit(2);
  await expectWhole();

  // a decision takes no true record away, and whoever made it is looked for
  const record = `${TREASURY_LEDGER.name}/0@0`;
  const words = ['--actor', 'mallory', '--reason', 'to hide it'];
  expect(await op('quarantine', 'skip', record, ...words)).toMatchObject({ code: 0 });
  const { code, stdout } = await op('audit');
  expect([code, stdout.match(/^(?:skipped|unneeded) .*ledger.*$/gm)]).toEqual([
    0,
    [
      expect.stringMatching(/^skipped {3}treasury\.ledger\/0@\d+: /),
      expect.stringMatching(/^skipped {3}treasury\.ledger\/0@\d+: /),
      expect.stringContaining(`unneeded  ${record}: somebody had it skipped`),
    ],
  ]);
});

test('a service that was stopped is started by npm run up, and a running one is left alone', async () => {
  const [ingester, treasury, hub] = ['chain-ingester', 'treasury', 'hub-gateway'].map(pidOf);
  process.kill(ingester ?? 0, 'SIGTERM');
  process.kill(treasury ?? 0, 'SIGTERM');
  await until(faults, 'both to be missed', (said) =>
    ['chain-ingester', 'treasury'].every((name) => said.some((fault) => fault.startsWith(name))),
  );
  const printed = await npmRun('up');
  expect(printed).toMatch(/chain-ingester was started again: ready/);
  expect(printed).toMatch(/treasury was started again: ready/);
  expect(printed.match(/started again/g)).toHaveLength(2);
  expect(await npmRun('up')).toContain('every part is ready');
  expect(pidOf('hub-gateway')).toBe(hub);
  await expectWhole();
});

test('ops stops, starts and restarts one service or server, and says what came of it', async () => {
  const [treasury, hub, redis] = ['treasury', 'hub-gateway', 'redis'].map(pidOf);
  expect(await op('stop', 'treasury')).toMatchObject({ code: 0, stdout: 'treasury: stopped\n' });
  expect(await op('stop', 'treasury')).toMatchObject({
    code: 0,
    stdout: 'treasury: was stopped before\n',
  });
  expect(await faults()).toContainEqual(expect.stringContaining('npx ops restart treasury'));
  expect(await op('start', 'treasury')).toMatchObject({ code: 0, stdout: 'treasury: ready\n' });
  expect(await op('start', 'treasury')).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^treasury: runs already/),
  });
  expect(await op('restart', 'hub-gateway', '--json')).toMatchObject({
    code: 0,
    stdout: '{"part":"hub-gateway","is_done":true,"text":"ready"}\n',
  });
  expect(await op('restart', 'redis')).toMatchObject({ code: 0 });
  const limit = 'APP_RECONCILE_REQUESTS_PER_DAY=1000000';
  expect(await op('restart', 'treasury', '--set', limit)).toMatchObject({ code: 0 });
  // ops reads it there
  expect(JSON.parse(readFileSync(folder.stack_file, 'utf8'))).toMatchObject({
    reconcile_requests_per_day: 1_000_000,
  });
  for (const [name, before] of [
    ['treasury', treasury],
    ['hub-gateway', hub],
    ['redis', redis],
  ] as const)
    expect({ name, pid: pidOf(name) }).not.toEqual({ name, pid: before });
  expect(await op('restart', 'tresury')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('did you mean treasury?'),
  });
  expect(
    await ops('--stack', join(folder.root, 'none', 'stack.json'), 'restart', 'treasury'),
  ).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('docker compose restart treasury'),
  });
  await expectWhole();
});

test('after chain.blocks was written again everything works, and earlier reserve runs hold', async () => {
  await npmRun('down');
  await npmRun('up', '--servers-only');
  await withRawAdmin(kafka, (admin) => admin.deleteTopics({ topics: [CHAIN_BLOCKS.name] }));
  await npmRun('down');
  await npmRun('up');
  for (const projection of ['explorer', 'ride_market', 'series'])
    expect(await op('rebuild', projection)).toMatchObject({ code: 0 });
  await npmRun('up');
  await credit(3);
  await expectWhole();
});

test('a registry that lost its data is seeded from the log', async () => {
  rmSync(join(folder.data, 'registry'), { recursive: true });
  // it still has its file open
  const deleted = await op('registry', 'check');
  expect(deleted).toMatchObject({ code: 2, stdout: '' });
  const [restart = '', seed = ''] = commandsIn(deleted.stderr);
  const restarted = await op(...restart.split(' '));
  expect(restarted).toMatchObject({ code: 2 });
  expect(commandsIn(restarted.stdout)).toEqual([seed]);
  const checked = await op('registry', 'check');
  expect([checked.code, commandsIn(checked.stderr)]).toEqual([2, [seed]]);
  expect(await op(...seed.split(' '))).toMatchObject({ code: 0 });
  expect(await op('registry', 'check')).toMatchObject({ code: 0 });

  // also where every service waits for it
  await npmRun('down');
  rmSync(join(folder.data, 'registry'), { recursive: true });
  const start = stack.run(['up']);
  await start.prints(`npx ops ${seed}`);
  expect(await op(...seed.split(' '))).toMatchObject({ code: 0 });
  expect(await start.ended()).toBe(0);
  await credit(4);
  await expectWhole();
});

/** Replaces the brokers' data by those of a copy, as the page on backups says. */
async function restore(copy: string): Promise<void> {
  await npmRun('down');
  rmSync(join(folder.data, 'kafka'), { recursive: true });
  cpSync(join(copy, 'kafka'), join(folder.data, 'kafka'), { recursive: true });
  rmSync(copy, { recursive: true });
  await npmRun('up');
}

test('a topic that was deleted is restored from the copy of a stopped system', async () => {
  const copy = join(folder.root, 'copy');
  await npmRun('down');
  cpSync(folder.data, copy, { recursive: true });
  await npmRun('up', '--servers-only');
  await withRawAdmin(kafka, (admin) => admin.deleteTopics({ topics: [TREASURY_LEDGER.name] }));
  await restore(copy);
  await credit(5);
  await expectWhole();
});

test('a deleted chain.blocks is named by its readers, and comes back by the commands that they name', async () => {
  await credit(9);
  await withRawAdmin(kafka, (admin) => admin.deleteTopics({ topics: [CHAIN_BLOCKS.name] }));
  const needs = ['chain-ingester', 'treasury', ...BLOCK_READERS.map((name) => `projector-${name}`)];
  let named: readonly string[] = [];
  await until(
    async () =>
      (named = (await faults()).filter((fault) => fault.includes('have no topic chain.blocks.'))),
    'each reader and the writer to name the topic',
    (said) => needs.every((name) => said.some((fault) => isSaidBy(name, fault))),
  );
  const typed = new Set<string>();
  const type = async (command: string): Promise<void> => {
    expect([command, await op(...command.split(' '))]).toMatchObject([command, { code: 0 }]);
    typed.add(command);
  };
  const [, restart = ''] = /npx ops (restart [\w-]+)/.exec(named.join()) ?? [];
  await type(restart);
  await until(
    async () => {
      const said = await faults();
      for (const [, command = ''] of said
        .join('\n')
        .matchAll(/npx ops (re(?:build|start) [\w-]+)/g))
        if (/: HALTED/.test(said.join()) && !typed.has(command)) await type(command);
      return said;
    },
    'every service to go on',
    (said) => said.length === 0,
  );
  await credit(10);
  await expectWhole();
});

test('deleted heads of all topics are named, stop each reader that starts, and come back from the copy', async () => {
  await credit(7);
  const copy = join(folder.root, 'copy');
  await npmRun('down');
  cpSync(folder.data, copy, { recursive: true });
  await npmRun('up', '--servers-only');
  const topics = [...TOPICS, SCHEMA_IDS].map(({ name }) => name);
  const ends = await Promise.all(topics.map(endOf));
  // without a garbage record before, nothing was skipped
  const written = topics.filter((_, at) => (ends[at] ?? 0n) > 0n);
  for (const topic of written) await deleteRecordsBefore(kafka, topic, 1);
  await npmRun('down');
  await stack.main(['up']);
  const readers = ['explorer', 'ride-market', 'series', 'deposits', 'watch', 'reserve'];
  const halted = ['chain-ingester', 'treasury', ...readers.map((name) => `projector-${name}`)];
  await until(
    faults,
    'each topic to be named, and each reader to have halted',
    (said) =>
      TOPICS.filter(({ name }) => written.includes(name)).every(({ name }) =>
        said.some((fault) => fault.startsWith(`${name}/0 begins at offset 1: `)),
      ) &&
      halted.every((name) =>
        said.some((fault) => fault.includes(': HALTED') && isSaidBy(name, fault)),
      ),
  );
  await restore(copy);
  await credit(8);
  await expectWhole();
});

test('a table that is not what its log says is rebuilt', async () => {
  const { postgres_url: writer }: { readonly postgres_url: string } = JSON.parse(
    readFileSync(folder.stack_file, 'utf8'),
  );
  const client = new Client({ connectionString: writer });
  await client.connect();
  await client.query('UPDATE deposits.deposits SET gross = gross + 1 WHERE seq = 0');
  await client.query('DELETE FROM explorer.blocks WHERE height = 1');
  await client.end();
  const verified = await op('verify', 'all');
  expect(verified).toMatchObject({ code: 2 });
  const named = [...verified.stdout.matchAll(/: npx ops (rebuild \w+) puts it right/g)];
  expect(named.map(([, command]) => command)).toEqual(['rebuild explorer', 'rebuild deposits']);
  for (const [, command = ''] of named)
    expect(await op(...command.split(' '))).toMatchObject({ code: 0 });
  await credit(6);
  await expectWhole();
});
