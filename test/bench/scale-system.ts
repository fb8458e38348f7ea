/** A whole system that bears loads, and how much its processes take. */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import { postgresUrl } from '../../infra/postgres/databases.ts';
import { superuser } from '../../infra/postgres/settings.ts';
import { services } from '../../infra/services/services.ts';
import { DEVELOPMENT_JWT_SECRET } from '../../schemas/development.ts';
import { rowsOf } from '../support/database.ts';
import type { ServiceHandle, Stack } from '../support/stack.ts';
import { goodToken } from '../support/tokens.ts';
import { say } from './bench.ts';
import { Subscribers } from './hub-sockets.ts';
import { PacedReaders } from './paced-readers.ts';
import { treeProcessorSeconds, unsharedMemory } from './process-figures.ts';

/** Work that is counted. A delivery is a list of the market that one socket gets. */
export const UNITS = ['block', 'transaction', 'check', 'deposit', 'delivery', 'request'];

/**
 * A second: at least one block, checks of deposit addresses, deposits to new addresses, requests
 * for pages of transactions. Sockets are no rate: each is told the open requests at every change.
 */
export const BASE = { blocks: 1, transactions: 2, checks: 2, deposits: 0, sockets: 0, requests: 0 };
export type Rates = Readonly<typeof BASE>;

/** Units that were done, and what parts took for them: since the start, or a second. */
export type Figures = ReadonlyMap<string, number>;
/** All processes together. */
export const ALL = 'all processes, ms';
/** More than are checked in a load, so that some are always due. */
const ADDRESSES = 2_000;
const AT_ONCE = 50;
/** A deposit takes as long until its mint is final. */
const SETTLE_MS = 20_000;
const PAID = '10000000';
const SETTINGS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  devnet: { APP_BLOCK_INTERVAL_MS: '1000', APP_TRAFFIC_PER_SECOND: '2' },
  treasury: { APP_ROLLING_CAP: '1000000000000' },
};
const BYTES =
  "SELECT pg_current_wal_insert_lsn() - pg_lsn '0/0' AS wal, pg_database_size(current_database()) AS tables";

export class System {
  readonly #stack: Stack;
  readonly #instances: number;
  readonly #services = new Map<string, readonly ServiceHandle[]>();
  #checks = 0;
  #accounts = 0;
  #subscribers: readonly Subscribers[] = [];
  #readers: readonly PacedReaders[] = [];

  constructor(stack: Stack, instances: number) {
    this.#stack = stack;
    this.#instances = instances;
  }

  async start(): Promise<void> {
    for (const { name } of services) await this.#spawn(name, SETTINGS[name]);
    say(`${ADDRESSES} accounts request addresses`);
    while (this.#accounts < ADDRESSES)
      await Promise.all(Array.from({ length: AT_ONCE }, () => this.#openAddress()));
  }

  /** Bears this load, and measures it once it is steady. */
  async bear(rates: Rates, seconds: number): Promise<Figures> {
    await this.#watch(rates.checks);
    await this.#tell('/admin/traffic', { transactions_per_second: rates.transactions });
    const transactions = (await this.#look()).get('transaction') ?? 0;
    const sockets = rates.sockets / this.#instances;
    const per_second = rates.requests / this.#instances;
    const asking = { per_second, connections: 8, asked: { transactions, seed: 1 } };
    const stop = new AbortController();
    try {
      this.#subscribers = await this.#each('hub-gateway', ({ url }) =>
        Subscribers.open(`${url.replace('http', 'ws')}/graphql/ws`, sockets, false),
      );
      if (per_second > 0)
        this.#readers = await this.#each('explorer-gateway', ({ url, pid }) =>
          PacedReaders.begin({ server: { url, pid }, ...asking }),
        );
      const [borne] = await Promise.all([
        this.#measured(seconds).finally(() => stop.abort()),
        // the devnet makes one by itself
        paced(rates.blocks - 1, stop.signal, () => this.#tell('/admin/clt/block', {})),
        paced(rates.deposits, stop.signal, async () =>
          this.#tell('/admin/tron/transfers', { to: await this.#openAddress(), value: PAID }),
        ),
      ]);
      if (this.#readers.some(({ failed }) => failed > 0)) throw new Error('requests failed');
      return borne;
    } finally {
      stop.abort();
      await Promise.all(this.#subscribers.map((each) => each.close()));
      await Promise.all(this.#readers.map((each) => each.stop()));
      [this.#subscribers, this.#readers] = [[], []];
    }
  }

  /** MiB by part, without memory that processes share. */
  memory(): Figures {
    return new Map(this.#pids().map(([part, pids]) => [part, total(pids.map(unsharedMemory))]));
  }

  async #spawn(name: string, settings: Readonly<Record<string, string>> = {}): Promise<void> {
    const handles: ServiceHandle[] = [];
    // a chain and a network of TRON have one state
    while (handles.length < (name === 'devnet' ? 1 : this.#instances)) {
      const handle = await this.#stack.spawnService(name, { APP_LOG_LEVEL: 'warn', ...settings });
      await handle.ready();
      handles.push(handle);
    }
    this.#services.set(name, handles);
  }

  /** Watchers that check so many addresses a second, by a pass each second. */
  async #watch(checks: number): Promise<void> {
    if (checks === this.#checks) return;
    this.#checks = checks;
    await this.#each('tron-watcher', (handle) => handle.kill('SIGTERM'));
    await this.#spawn('tron-watcher', {
      APP_PASS_EVERY_MS: '1000',
      APP_PASS_ADDRESSES_MAX: String(checks),
      APP_PASS_COLD_MIN: '1',
      APP_COLD_EVERY_MS: '10000',
      APP_TRON_REQUESTS_PER_SECOND: '1000',
    });
  }

  async #measured(seconds: number): Promise<Figures> {
    await after(SETTLE_MS);
    const [begun, before] = [performance.now(), await this.#look()];
    await after(seconds * 1_000);
    const [took, figures] = [(performance.now() - begun) / 1_000, await this.#look()];
    return new Map(
      [...figures].map(([name, value]) => [name, (value - (before.get(name) ?? 0)) / took]),
    );
  }

  async #look(): Promise<Figures> {
    const busy = this.#pids().map(([part, pids]): [string, number] => [
      `${part}, ms`,
      total(pids.map(treeProcessorSeconds)) * 1_000,
    ]);
    const { host, pathname } = new URL(this.#stack.addresses.postgres_url);
    const [bytes] = await rowsOf(postgresUrl(superuser, host, pathname.slice(1)), BYTES);
    const devnet = await this.#counts('devnet');
    const watched = await this.#counts('tron-watcher');
    await Promise.all(this.#readers.map((each) => each.taken()));
    const asked = await answered(`${this.#url('devnet')}/admin/tron/requests`);
    return new Map([
      ['block', devnet('devnet_blocks_total')],
      ['transaction', devnet('devnet_transactions_total')],
      ['check', watched('tron_addresses_checked_total')],
      ['deposit', devnet('devnet_transactions_total{function_call_type="Mint"}')],
      ['delivery', total(this.#subscribers.map(({ results }) => results))],
      ['request', total(this.#readers.map(({ requests }) => requests))],
      ...busy,
      [ALL, total(busy.map(([, ms]) => ms))],
      ["Kafka's log, bytes", logBytes(join(this.#stack.folder.data, 'kafka'))],
      ["Postgres' log, bytes", Number(bytes?.['wal'])],
      ['tables, bytes', Number(bytes?.['tables'])],
      ["TRON's provider, requests", Number(asked['total'])],
    ]);
  }

  #pids(): readonly (readonly [part: string, readonly number[]])[] {
    const servers = Object.values(this.#stack.servers).map(({ name, pid }) => {
      if (pid === undefined) throw new Error(`${name} is no process here: set TEST_SERVERS=local`);
      return [name, [pid]] as const;
    });
    const ours = [...this.#services].filter(([name]) => name !== 'devnet');
    return [...servers, ...ours.map(([name, all]) => [name, all.map(({ pid }) => pid)] as const)];
  }

  #each<Result>(
    name: string,
    act: (handle: ServiceHandle) => Promise<Result>,
  ): Promise<readonly Result[]> {
    return Promise.all((this.#services.get(name) ?? []).map(act));
  }

  /** A reading of the metrics of all instances: the sum of the lines that begin so. */
  async #counts(name: string): Promise<(metric: string) => number> {
    const texts = await this.#each(name, async ({ ops_url: url }) =>
      (await fetch(`${url}/metrics`)).text(),
    );
    const lines = texts.flatMap((text) => text.split('\n'));
    return (metric) =>
      total(
        lines.filter((line) => line.startsWith(metric)).map((line) => Number(line.split(' ')[1])),
      );
  }

  #url(name: string, which = 0): string {
    const handles = this.#services.get(name) ?? [];
    return handles[which % handles.length]?.url ?? '';
  }

  async #tell(path: string, body: object): Promise<void> {
    const headers = { 'content-type': 'application/json' };
    const request = { method: 'POST', headers, body: JSON.stringify(body) };
    await answered(`${this.#url('devnet')}${path}`, request);
  }

  async #openAddress(): Promise<unknown> {
    const account = ++this.#accounts;
    const pk = `0x${account.toString(16).padStart(40, '0')}`;
    const exp = Math.floor(Date.now() / 1_000) + 86_400;
    const headers = { authorization: `Bearer ${goodToken({ pk, exp }, DEVELOPMENT_JWT_SECRET)}` };
    const url = `${this.#url('deposit-gateway', account)}/api/v1/deposits`;
    return (await answered(url, { method: 'POST', headers }))['address'];
  }
}

/** One act after the other, so many a second; those that are late follow at once. */
async function paced(
  perSecond: number,
  signal: AbortSignal,
  act: () => Promise<void>,
): Promise<void> {
  if (perSecond === 0) return;
  for (let due = performance.now(); !signal.aborted; due += 1_000 / perSecond) {
    await after(Math.max(0, due - performance.now()));
    await act();
  }
}

async function answered(
  url: string,
  init?: RequestInit,
): Promise<Readonly<Record<string, unknown>>> {
  const response = await fetch(url, init);
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${await response.text()}`);
  return Object(await response.json());
}

/** Segments alone: indexes have room before it is used. */
function logBytes(folder: string): number {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  const segments = files.filter((path) => path.endsWith('.log'));
  return total(segments.map((path) => statSync(join(folder, path)).size));
}

function total(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}
