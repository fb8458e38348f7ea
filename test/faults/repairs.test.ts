/** Services, servers and tables that a person repairs, as `repaired-system.ts` says. */
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { beforeAll, expect, test } from 'vitest';
import {
  CHAIN_BLOCKS,
  DEPOSIT_ADDRESSES,
  PROJECTOR_SKIPS,
  RESERVE_RUNS,
  SCHEMA_IDS,
  TREASURY_LEDGER,
  TRON_TRANSFERS,
} from '../../schemas/topics.ts';
import { ops } from '../services/ops/operator.ts';
import { readAll } from '../support/kafka.ts';
import { until } from '../support/until.ts';
import { RepairedSystem } from './repaired-system.ts';

let system: RepairedSystem;
beforeAll(async () => {
  system = await RepairedSystem.open();
  return () => system.close();
});

/** Types what `ops status` says, as long as it says something. */
async function followStatus(): Promise<readonly string[]> {
  const typed = new Set<string>();
  await until(
    async () => {
      const said = await system.faults();
      for (const fault of said) {
        const command = /ops (quarantine skip \S+) --actor NAME --reason TEXT/.exec(fault)?.[1];
        if (command === undefined || typed.has(command)) continue;
        const words = [...command.split(' '), '--actor', 'anna', '--reason', 'of a stranger'];
        expect(await system.op(...words)).toMatchObject({ code: 0 });
        typed.add(command);
      }
      return said;
    },
    'every service to go on',
    (said) => said.length === 0,
  );
  return [...typed];
}

/** The commands for this stack that a message names. */
function commandsIn(message: string): readonly string[] {
  const named = message.matchAll(/npx ops ([a-z ]+) --stack (\S+)/g);
  return [...named].flatMap(([, command = '', file]) =>
    file === system.folder.stack_file ? [command] : [],
  );
}

function pidOf(name: string): number {
  const { pids }: { readonly pids: Readonly<Record<string, number>> } = JSON.parse(
    readFileSync(system.folder.stack_file, 'utf8'),
  );
  return pids[name] ?? 0;
}

/** Appends as a stranger does. */
async function append(topic: string, values: readonly (Buffer | null)[]): Promise<void> {
  const producer = system.kafka.raw.producer();
  await producer.connect();
  const messages = values.map((value) => ({ key: '999999', value, partition: 0 }));
  await producer.send({ topic, messages });
  await producer.disconnect();
}

/** Ids that no registry has, and no bytes. */
const GARBAGE = ['00deadbeef', '00ffffffff00', '000000270f00', ''].map((hex) =>
  Buffer.from(hex, 'hex'),
);

test('garbage in any topic stops only what has to wait for a person, and the commands that are named get everything going', async () => {
  await system.credit(1);
  const [ofLedger] = await readAll(system.kafka, TREASURY_LEDGER.name);
  await append(CHAIN_BLOCKS.name, [...GARBAGE, null, ofLedger?.value ?? null]);
  expect(await followStatus()).toHaveLength(GARBAGE.length + 2);

  // too many for one command each, among blocks
  const from = await system.endOf(CHAIN_BLOCKS.name);
  for (let times = 0; times < 3; times++) await append(CHAIN_BLOCKS.name, GARBAGE);
  const range = `${CHAIN_BLOCKS.name}/0@${from}-${(await system.endOf(CHAIN_BLOCKS.name)) - 1n}`;
  const many = await system.op(
    'quarantine',
    'skip',
    range,
    '--actor',
    'anna',
    '--reason',
    'garbage',
  );
  expect(many).toMatchObject({ code: 0 });
  expect(many.stdout.match(/was decided now/g)).toHaveLength(3 * GARBAGE.length);
  await system.untilNothingIsWrong(); // else a record that was decided is named once more below

  for (const { name } of [DEPOSIT_ADDRESSES, TRON_TRANSFERS, TREASURY_LEDGER, RESERVE_RUNS])
    await append(name, [GARBAGE[0] ?? null, null]);
  for (const { name } of [SCHEMA_IDS, PROJECTOR_SKIPS]) await append(name, [...GARBAGE, null]);
  expect(await followStatus()).toHaveLength(8);
  await system.credit(2);
  await system.expectWhole();

  // a decision takes no true record away, and whoever made it is looked for
  const record = `${TREASURY_LEDGER.name}/0@0`;
  const words = ['--actor', 'mallory', '--reason', 'to hide it'];
  expect(await system.op('quarantine', 'skip', record, ...words)).toMatchObject({ code: 0 });
  const { code, stdout } = await system.op('audit');
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
  await until(
    () => system.faults(),
    'both to be missed',
    (said) =>
      ['chain-ingester', 'treasury'].every((name) => said.some((fault) => fault.startsWith(name))),
  );
  const printed = await system.npmRun('up');
  expect(printed).toMatch(/chain-ingester was started again: ready/);
  expect(printed).toMatch(/treasury was started again: ready/);
  expect(printed.match(/started again/g)).toHaveLength(2);
  expect(await system.npmRun('up')).toContain('every part is ready');
  expect(pidOf('hub-gateway')).toBe(hub);
  await system.untilNothingIsWrong();
});

test('ops stops, starts and restarts one service or server, and says what came of it', async () => {
  const [treasury, hub, redis] = ['treasury', 'hub-gateway', 'redis'].map(pidOf);
  expect(await system.op('stop', 'treasury')).toMatchObject({
    code: 0,
    stdout: 'treasury: stopped\n',
  });
  expect(await system.op('stop', 'treasury')).toMatchObject({
    code: 0,
    stdout: 'treasury: was stopped before\n',
  });
  expect(await system.faults()).toContainEqual(expect.stringContaining('npx ops restart treasury'));
  expect(await system.op('start', 'treasury')).toMatchObject({
    code: 0,
    stdout: 'treasury: ready\n',
  });
  expect(await system.op('start', 'treasury')).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^treasury: runs already/),
  });
  expect(await system.op('restart', 'hub-gateway', '--json')).toMatchObject({
    code: 0,
    stdout: '{"part":"hub-gateway","is_done":true,"text":"ready"}\n',
  });
  expect(await system.op('restart', 'redis')).toMatchObject({ code: 0 });
  const limit = 'APP_RECONCILE_REQUESTS_PER_DAY=1000000';
  expect(await system.op('restart', 'treasury', '--set', limit)).toMatchObject({ code: 0 });
  // ops reads it there
  expect(JSON.parse(readFileSync(system.folder.stack_file, 'utf8'))).toMatchObject({
    reconcile_requests_per_day: 1_000_000,
  });
  for (const [name, before] of [
    ['treasury', treasury],
    ['hub-gateway', hub],
    ['redis', redis],
  ] as const)
    expect({ name, pid: pidOf(name) }).not.toEqual({ name, pid: before });
  expect(await system.op('restart', 'tresury')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('did you mean treasury?'),
  });
  expect(
    await ops('--stack', join(system.folder.root, 'none', 'stack.json'), 'restart', 'treasury'),
  ).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('docker compose restart treasury'),
  });
  await system.untilNothingIsWrong();
});

test('a registry that lost its data is seeded from the log', async () => {
  rmSync(join(system.folder.data, 'registry'), { recursive: true });
  // it still has its file open
  const deleted = await system.op('registry', 'check');
  expect(deleted).toMatchObject({ code: 2, stdout: '' });
  const [restart = '', seed = ''] = commandsIn(deleted.stderr);
  const restarted = await system.op(...restart.split(' '));
  expect(restarted).toMatchObject({ code: 2 });
  expect(commandsIn(restarted.stdout)).toEqual([seed]);
  const checked = await system.op('registry', 'check');
  expect([checked.code, commandsIn(checked.stderr)]).toEqual([2, [seed]]);
  expect(await system.op(...seed.split(' '))).toMatchObject({ code: 0 });
  expect(await system.op('registry', 'check')).toMatchObject({ code: 0 });

  // also where every service waits for it
  await system.npmRun('down');
  rmSync(join(system.folder.data, 'registry'), { recursive: true });
  const start = system.run(['up']);
  await start.prints(`npx ops ${seed}`);
  expect(await system.op(...seed.split(' '))).toMatchObject({ code: 0 });
  expect(await start.ended()).toBe(0);
  await system.credit(4);
  await system.expectWhole();
});

test('a table that is not what its log says is rebuilt', async () => {
  const { postgres_url: writer }: { readonly postgres_url: string } = JSON.parse(
    readFileSync(system.folder.stack_file, 'utf8'),
  );
  const client = new Client({ connectionString: writer });
  await client.connect();
  await client.query('UPDATE deposits.deposits SET gross = gross + 1 WHERE seq = 0');
  await client.query('DELETE FROM explorer.blocks WHERE height = 1');
  await client.end();
  const verified = await system.op('verify', 'all');
  expect(verified).toMatchObject({ code: 2 });
  const named = [...verified.stdout.matchAll(/: npx ops (rebuild \w+) puts it right/g)];
  expect(named.map(([, command]) => command)).toEqual(['rebuild explorer', 'rebuild deposits']);
  for (const [, command = ''] of named)
    expect(await system.op(...command.split(' '))).toMatchObject({ code: 0 });
  await system.credit(6);
  await system.expectWhole();
});
