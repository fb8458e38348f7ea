import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { BlockJson } from '../../../../infra/devnet/clt/block.ts';
import { balancesOf, foldEffects, refold, testGenesis } from '../../../support/clt-world.ts';
import { makeGenesis } from '../../../../infra/devnet/clt/genesis.ts';

const MAIN = fileURLToPath(new URL('../../../../infra/devnet/main.ts', import.meta.url));
let directory = '';
let children: ChildProcess[] = [];

beforeEach(() => {
  directory = fs.mkdtempSync(path.join(os.tmpdir(), 'devnet-main-'));
  children = [];
});
afterEach(() => {
  for (const child of children) child.kill('SIGKILL');
  fs.rmSync(directory, { recursive: true, force: true });
});

interface Line {
  readonly event: string;
  readonly problems?: readonly string[];
  readonly node_port?: number;
  readonly tron_port?: number;
  readonly admin_port?: number;
  readonly height?: number;
}

interface Run {
  readonly child: ChildProcess;
  readonly lines: readonly Line[];
  /** exit code, or the signal that ended it */
  readonly ended: Promise<number | string | null>;
}

const { PATH, NODE_COMPILE_CACHE } = process.env;

function start(env: Readonly<Record<string, string>>): Run {
  const child = spawn(process.execPath, [MAIN], {
    env: { PATH, NODE_COMPILE_CACHE, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  const lines: Line[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(JSON.parse(line)));
  const ended = once(child, 'close').then(
    ([code, signal]: (number | string | null)[]) => code ?? signal ?? null,
  );
  return { child, lines, ended };
}

const quick = (): Readonly<Record<string, string>> => ({
  APP_DEVNET_DIR: directory,
  APP_DEVNET_SEED: 'main',
  APP_NODE_PORT: '0',
  APP_TRON_PORT: '0',
  APP_ADMIN_PORT: '0',
  APP_BLOCK_INTERVAL_MS: '20',
  APP_TRAFFIC_PER_SECOND: '40',
  APP_FINALITY_DEPTH: '6',
});

async function ready(run: Run): Promise<Line> {
  await expect.poll(() => run.lines.some(({ event }) => event === 'ready')).toBe(true);
  return run.lines.find(({ event }) => event === 'ready') ?? { event: 'never' };
}

async function block(
  port: number | undefined,
  height: number,
  wait_ms: number,
): Promise<BlockJson> {
  const response = await fetch(`http://127.0.0.1:${port}/v1/blocks/${height}?wait_ms=${wait_ms}`);
  if (response.status !== 200) throw new Error(`block ${height}: ${response.status}`);
  return Object(await response.json());
}

test('bad settings exit 1 and are all reported', async () => {
  const run = start({ APP_NODE_PORT: 'x' });
  expect(await run.ended).toBe(1);
  const problems = run.lines.find(({ event }) => event === 'bad_configuration')?.problems ?? [];
  expect(problems.map((problem) => problem.split(' ')[0])).toEqual([
    'APP_NODE_PORT',
    'APP_DEVNET_DIR',
    'APP_DEVNET_SEED',
  ]);
});

test('another chain id for the same directory exits 1', async () => {
  const run = start(quick());
  await ready(run);
  run.child.kill('SIGTERM');
  expect(await run.ended).toBe(0);
  const other = start({ ...quick(), APP_CHAIN_ID: '1' });
  expect(await other.ended).toBe(1);
});

test('a port in use exits 2 before the chain is touched', async () => {
  const taken = net.createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const address = taken.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const run = start({ ...quick(), APP_ADMIN_PORT: String(port) });
  expect(await run.ended).toBe(2);
  expect(fs.existsSync(path.join(directory, 'blocks.log'))).toBe(false);
  taken.close();
  await once(taken, 'close');
});

test('SIGTERM answers long polls, leaves whole blocks and exits 0, as SIGINT twice does', async () => {
  const run = start({ ...quick(), APP_BLOCK_INTERVAL_MS: '3600000' });
  const { node_port } = await ready(run);
  const waiting = fetch(`http://127.0.0.1:${node_port}/v1/blocks/1?wait_ms=30000`);
  await expect
    .poll(async () =>
      (await fetch(`http://127.0.0.1:${(await ready(run)).admin_port}/metrics`)).text(),
    )
    .toContain('devnet_long_polls 1');
  run.child.kill('SIGTERM');
  expect((await waiting).status).toBe(404);
  expect(await run.ended).toBe(0);
  const again = start(quick());
  await ready(again);
  again.child.kill('SIGINT');
  again.child.kill('SIGINT');
  expect(await again.ended).toBe(0);
});

test('after random kills the chain continues and its effects add up', async () => {
  let known: readonly BlockJson[] = [];
  for (let round = 0; round < 5; round++) {
    const run = start(quick());
    const { node_port, admin_port, height = -1 } = await ready(run);
    // all that was served before the kill is still there
    expect(height).toBeGreaterThanOrEqual(known.length - 1);
    for (const before of known.slice(-30))
      expect((await block(node_port, before.height, 0)).hash).toBe(before.hash);
    const until = height + 15 + round * 7;
    await block(node_port, until, 30_000);
    if (round % 2 === 0) {
      const reorg = {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{"depth":4}',
      };
      expect((await fetch(`http://127.0.0.1:${admin_port}/admin/clt/reorg`, reorg)).status).toBe(
        200,
      );
    }
    const served: { readonly blocks: readonly BlockJson[] } = Object(
      await (await fetch(`http://127.0.0.1:${node_port}/v1/blocks?from=0&limit=500`)).json(),
    );
    known = served.blocks;
    run.child.kill('SIGKILL');
    expect(await run.ended).toBe('SIGKILL');
  }
  expect(known.length).toBeGreaterThan(100);
  expect(known.flatMap(({ transactions }) => transactions).length).toBeGreaterThan(20);
  const [first] = known;
  const genesis = makeGenesis({
    seed: 'main',
    chain_id: 7777,
    is_testnet: true,
    finality_depth: 6,
    timestamp: first?.timestamp ?? 0,
  });
  expect(genesis.block.hash).toBe(first?.hash);
  expect(testGenesis().block.hash).not.toBe(first?.hash);
  const { rows, hashes } = refold(
    genesis,
    known.slice(1).map((each) => JSON.stringify(each)),
  );
  expect(hashes).toEqual(known.slice(1).map(({ hash }) => hash));
  expect(foldEffects(known)).toEqual(balancesOf(rows));
});

test('after random kills TRON’s network keeps every transfer, and its solidified head never decreases', async () => {
  const address = 'TWer2Ygk5TEheHp3TPuYeqxmB6SsGZmaL6';
  const taken: string[] = [];
  let solidified = 0;
  for (let round = 0; round < 4; round++) {
    const run = start({
      ...quick(),
      APP_TRAFFIC_PER_SECOND: '0',
      APP_DEVNET_TRON_BLOCK_INTERVAL_MS: '20',
      APP_DEVNET_TRON_SOLIDIFY_MS: '40',
    });
    const { tron_port, admin_port } = await ready(run);
    const head = async (): Promise<number> => {
      const response = await fetch(`http://127.0.0.1:${tron_port}/walletsolidity/getnowblock`);
      const { block_header }: { block_header: { raw_data: { number: number } } } = Object(
        await response.json(),
      );
      return block_header.raw_data.number;
    };
    const listed = async (): Promise<readonly string[]> => {
      const query = 'only_confirmed=true&limit=200&order_by=block_timestamp,asc';
      const response = await fetch(
        `http://127.0.0.1:${tron_port}/v1/accounts/${address}/transactions/trc20?${query}`,
      );
      const { data }: { data: readonly { transaction_id: string }[] } = Object(
        await response.json(),
      );
      return data.map(({ transaction_id }) => transaction_id);
    };
    expect(await head()).toBeGreaterThanOrEqual(solidified);
    await expect.poll(listed).toEqual(taken);
    for (let sent = 0; sent < 12; sent++) {
      const body = JSON.stringify({ to: address, value: String(sent + 1) });
      const transfer = { method: 'POST', headers: { 'content-type': 'application/json' }, body };
      const answer: { transaction_id: string } = Object(
        await (await fetch(`http://127.0.0.1:${admin_port}/admin/tron/transfers`, transfer)).json(),
      );
      taken.push(answer.transaction_id);
    }
    solidified = await head();
    run.child.kill('SIGKILL');
    expect(await run.ended).toBe('SIGKILL');
  }
  expect(new Set(taken).size).toBe(48);
});
