/**
 * The fault run of the cluster: three secured brokers, Postgres and Redis with a replica, and each
 * service twice, while the chain moves, rides are taken and deposits arrive. Leaders, followers,
 * holders of leases, projectors and gateways are killed, frozen or cut off, and Postgres and Redis
 * fail over. After each blow a newer block and a new deposit have to come through. At the end the
 * node, the logs and the tables are held against each other, and `ops audit` has to find nothing.
 */
import { Pool } from 'pg';
import { defaultSettings } from '../../infra/services/settings.ts';
import { registry_path } from '../../infra/local/servers/registry.ts';
import {
  CHAIN_BLOCKS,
  DEPOSIT_ADDRESSES,
  TREASURY_LEDGER,
  TRON_TRANSFERS,
} from '../../schemas/topics.ts';
import { AUDITED_TOPICS } from '../../services/ops/audit/audit.ts';
import { openKafka } from '../../services/runtime/kafka/client.ts';
import type { Codec } from '../../services/runtime/kafka/codec.ts';
import type { Kafka } from '../../services/runtime/kafka/port.ts';
import { ChainNode } from '../../services/runtime/clt-node.ts';
import { readConfig } from '../../services/runtime/process/config.ts';
import { messageOf } from '../../services/runtime/process/errors.ts';
import { KAFKA_SETTINGS } from '../../services/runtime/process/kafka-settings.ts';
import { startCluster, type Cluster } from '../support/cluster.ts';
import { openCodec } from '../support/codec.ts';
import { silentLog } from '../support/kafka.ts';
import { plainDeposits, plainWatch } from '../support/plain-deposits.ts';
import { differences, readTables, texts } from '../support/plain-fold.ts';
import { Random } from '../support/random.ts';
import { goodToken, SECRET } from '../support/tokens.ts';
import { until } from '../support/until.ts';
import { judgeChain } from './chain-verdict.ts';
import { ClusterBlows, POSTGRES, superuserUrl } from './cluster-blows.ts';
import { readDepositLogs } from './deposit-logs.ts';
import { isProjected } from './deposit-verdict.ts';
import { Depositors } from './depositors.ts';
import {
  countsLine,
  recoveryLines,
  type FaultReport,
  type FaultRun,
  type Given,
  type Recovery,
} from './fault-run.ts';
import { heightIn } from './head-height.ts';
import { answersOf, watchedLists, Watchers } from './hub-watchers.ts';
import { SETTINGS, TREASURY } from './mint-settings.ts';
import { miscounted, misjudged, unlikeBalances, type Audited } from './mint-verdict.ts';
import { runOps } from './ops-run.ts';
import { figureOf, Processes } from './processes.ts';
import { HANG_MS } from '../support/limits.ts';

const CALM = { APP_RATE_PER_SECOND: '0' };
const SERVICES = {
  devnet: { ...SETTINGS.devnet, APP_BLOCK_INTERVAL_MS: '300', APP_TRAFFIC_PER_SECOND: '10' },
  treasury: TREASURY,
  'tron-watcher': SETTINGS['tron-watcher'],
  'deposit-gateway': { ...CALM, APP_JWT_SECRET: SECRET },
  'explorer-gateway': CALM,
  'hub-gateway': { ...CALM, APP_JWT_SECRET: SECRET },
};
const TWICE = [
  'chain-ingester',
  'projector-explorer',
  'projector-ride-market',
  'projector-series',
  'projector-watch',
  'projector-deposits',
  'deposit-gateway',
  'treasury',
  'tron-watcher',
  'explorer-gateway',
  'hub-gateway',
];
const ACCOUNTS = 8;
/** Payments after each blow. */
const PAYMENTS = 2;
const SOCKETS = 6;
const USD = 1_000_000;
/** Records without effect that are bearable: a share, or a few batches that were sent twice. */
const DEAD_SHARE_MAX = 0.01;
const DEAD_MAX = 50;
/** And for each blow to a leader one append of the ingester, which has so much to catch up. */
const CATCH_UP_EVENTS = 51;
const TURN = { turn: texts([{ one: true }]) };

/** Both instances. */
function both(name: string): readonly string[] {
  return [name, `${name}/2`];
}

/** Events that do not stand at the offset that they were written for have no effect. */
function misplaced(events: readonly { readonly sequence?: number | undefined }[]): number {
  return events.filter(({ sequence }, offset) => sequence !== offset).length;
}

export interface ClusterReport extends FaultReport {
  readonly struck: Readonly<Record<string, number>>;
}

class ClusterRun {
  readonly processes: Processes;
  readonly blows: ClusterBlows;
  /** from each blow until a newer block, and until new deposits came through */
  readonly recoveries = { chain: [] as Recovery[], deposits: [] as Recovery[] };
  readonly #kafka: Kafka;
  readonly #cluster: Cluster;
  readonly #random: Random;
  readonly #node: ChainNode;
  readonly #depositors: Depositors;
  readonly #paid = new Map<number, bigint[]>();
  #made = 0;
  #watchers: Watchers | undefined;

  constructor(cluster: Cluster, seed: number) {
    this.#cluster = cluster;
    this.#random = new Random(seed);
    this.#node = new ChainNode(cluster.addresses.node_url, new AbortController().signal);
    const settings = readConfig(cluster.operator, KAFKA_SETTINGS);
    this.#kafka = openKafka(settings, 'fault-run', silentLog());
    this.processes = new Processes(cluster, SERVICES);
    this.blows = new ClusterBlows(cluster, this.#kafka, this.processes, this.#random);
    const gateways = both('deposit-gateway');
    let asked = 0;
    const gateway = (): string => this.processes.at(gateways[asked++ % 2] ?? '').url;
    this.#depositors = new Depositors(gateway, this.#random);
  }

  async start(): Promise<void> {
    await (await this.processes.start('devnet')).ready();
    for (const name of TWICE) for (const slot of both(name)) await this.processes.start(slot);
    for (const name of ['treasury', 'hub-gateway'])
      for (const slot of both(name)) await this.processes.at(slot).ready();
    for (let account = 0; account < ACCOUNTS; account++) await this.#depositors.open(account);
    await until(
      () => this.#height(),
      'the first blocks',
      (seen) => seen > 5,
    );
    await this.#pay();
    const { url } = this.processes.at('hub-gateway');
    this.#watchers = await Watchers.open(url, SOCKETS, watchedLists(await this.#someone()));
  }

  /** Strikes once, and waits until a newer block and a new deposit came through. */
  async round(): Promise<string> {
    const begun = performance.now();
    const what = await this.blows.strike();
    const recovery = (): Recovery => ({
      struck: what,
      ms: Math.round(performance.now() - begun),
    });
    const { head } = await this.#node.chain();
    await this.#pay();
    const chain = until(
      async () => [await this.#height(), await this.#marketHeight()],
      `a block above ${head.height} at the explorer and in the ride market, after: ${what}`,
      (heights) => Math.min(...heights) > head.height,
    ).then(() => this.recoveries.chain.push(recovery()));
    const deposits = until(
      () => this.#credited(),
      `${this.#made} deposits to be credited, after: ${what}`,
      (seen) => seen === this.#made,
    ).then(() => this.recoveries.deposits.push(recovery()));
    await Promise.all([chain, deposits]);
    await this.blows.mend();
    return `${what}; a newer block after ${this.recoveries.chain.at(-1)?.ms} ms, new deposits credited after ${this.recoveries.deposits.at(-1)?.ms} ms`;
  }

  async #pay(): Promise<void> {
    const transfers = Array.from({ length: PAYMENTS }, () => {
      const account = this.#random.below(ACCOUNTS);
      const value = BigInt(3 * USD + this.#random.below(20 * USD));
      this.#paid.set(account, [...(this.#paid.get(account) ?? []), value]);
      return { to: this.#depositors.addresses.get(account), value: String(value) };
    });
    await this.#admin('/tron/block', { transfers });
    this.#made += PAYMENTS;
  }

  /** As the treasury says that answers and knows most. */
  async #credited(): Promise<number> {
    const slots = both('treasury').filter((slot) => !this.processes.isFrozen(slot));
    const told = await Promise.all(
      slots.map((slot) =>
        figureOf(this.processes.at(slot), 'treasury_mints_total', 'MintCredited').catch(() => 0),
      ),
    );
    return Math.max(0, ...told);
  }

  /** The newest block that any gateway shows; -1: none answers. */
  async #height(): Promise<number> {
    const heights = both('explorer-gateway').map(async (slot) => {
      const url = `${this.processes.at(slot).url}/api/v1/stats`;
      const answer = await fetch(url, { signal: AbortSignal.timeout(HANG_MS) });
      const stats: { readonly latest_height?: number } = JSON.parse(await answer.text());
      return stats.latest_height ?? -1;
    });
    return Math.max(...(await Promise.all(heights.map((height) => height.catch(() => -1)))));
  }

  async #marketHeight(): Promise<number> {
    const heights = await Promise.all(
      POSTGRES.map((name) => heightIn(superuserUrl(this.#cluster, name), 'ride_market')),
    );
    return Math.max(...heights.map((height) => height ?? -1));
  }

  /** An account of the chain that acts now and then. */
  async #someone(): Promise<string> {
    const { blocks } = await this.#node.blocks(0, 500);
    const [transaction] = blocks.flatMap(({ transactions }) => transactions);
    if (transaction === undefined) throw new Error('the chain has no transaction yet');
    return `0x${transaction.from.toString('hex')}`;
  }

  async #admin(path: string, body: object): Promise<void> {
    const response = await fetch(`http://127.0.0.1:${this.#cluster.ports[0].devnet}/admin${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${path}: ${await response.text()}`);
  }

  async judged(): Promise<FaultReport> {
    await this.#admin('/traffic', { transactions_per_second: 0 });
    for (const slot of both('treasury'))
      await until(
        () => figureOf(this.processes.at(slot), 'treasury_mints_in_flight'),
        `${slot} to have no mint in flight`,
        (seen) => seen === 0,
      );
    await this.#admin('/clt/auto', { enabled: false });
    const primary = await this.blows.primary();
    const pool = new Pool({ connectionString: superuserUrl(this.#cluster, primary), max: 1 });
    // past the proxy, which asks for an account
    const registry = `http://127.0.0.1:${this.#cluster.ports[0].registry_inside}${registry_path}`;
    const codec = await openCodec(registry, [CHAIN_BLOCKS, ...AUDITED_TOPICS]);
    try {
      const { addresses } = this.#cluster;
      const chain = await judgeChain({
        kafka: this.#kafka,
        codec,
        pool,
        node_url: addresses.node_url,
      });
      const sockets = await this.#judgeSockets();
      const ended = [...both('tron-watcher'), ...both('treasury')];
      const undrained = await this.processes.drain(ended);
      const money = await this.#judgeMoney(codec, pool);
      const audited = await this.#audit();
      const logs = { 'chain.blocks': chain, ...money.logs };
      const sum = (of: 'events' | 'repeated'): number =>
        Object.values(logs).reduce((total, log) => total + log[of], 0);
      const [dead, events] = [sum('repeated'), sum('events')];
      const share = `${((100 * dead) / events).toFixed(2)} %`;
      const leaders = Object.entries(this.blows.counts)
        .filter(([what]) => what.startsWith('leader of '))
        .reduce((total, [, times]) => total + times, 0);
      const deadMax = Math.max(DEAD_MAX, DEAD_SHARE_MAX * events) + leaders * CATCH_UP_EVENTS;
      const { sums } = audited;
      return {
        lines: [
          `struck: ${countsLine(this.blows.counts)}`,
          `chain: ${chain.blocks} blocks, ${chain.transactions} transactions, ${chain.trips} trips; ${this.#watchers?.results ?? 0} results at ${SOCKETS} sockets`,
          `deposits: ${this.#made}, of which ${audited.mints} are minted; arrived ${sums.arrived}, minted ${sums.minted}, fees ${sums.fees}, held ${sums.held}`,
          `events, and those without effect: ${Object.entries(logs)
            .map(([topic, log]) => `${topic} ${log.events}, ${log.repeated}`)
            .join('; ')} (${share})`,
          ...recoveryLines('from a blow until a newer block is shown', this.recoveries.chain),
          ...recoveryLines(
            'from a blow until payments made after it are credited',
            this.recoveries.deposits,
          ),
        ],
        violations: [
          ...chain.violations,
          ...sockets,
          ...undrained,
          ...money.violations,
          ...misjudged(audited, []),
          ...miscounted(audited, { made: this.#made, forged: 0, others: 0 }),
          ...(await unlikeBalances(addresses.node_url, this.#paid)),
          ...this.#depositors.violations,
          ...(dead > deadMax ? [`${dead} records are dead, ${share}`] : []),
        ],
      };
    } finally {
      await pool.end();
    }
  }

  /** Every socket shows what the query answers. */
  async #judgeSockets(): Promise<readonly string[]> {
    const watchers = this.#watchers;
    if (watchers === undefined) throw new Error('nobody watches');
    const exp = Math.floor(Date.now() / 1_000) + 86_400;
    const token = goodToken({ pk: `0x${'aa'.repeat(20)}`, exp }, SECRET);
    const { url } = this.processes.at('hub-gateway');
    await watchers.untilRight(() => answersOf(url, watchers.lists, token));
    return watchers.wrong;
  }

  /** The tables of deposits and of the watcher against plain folds of the logs. */
  async #judgeMoney(
    codec: Codec,
    pool: Pool,
  ): Promise<{
    readonly logs: Readonly<Record<string, { readonly events: number; readonly repeated: number }>>;
    readonly violations: readonly string[];
  }> {
    for (const [projection, topics] of [
      ['watch', [DEPOSIT_ADDRESSES, TRON_TRANSFERS]],
      ['deposits', [DEPOSIT_ADDRESSES, TREASURY_LEDGER]],
    ] as const)
      await until(
        () => isProjected(pool, this.#kafka, projection, topics),
        `projection ${projection} at the end of the log`,
      );
    const { addresses, ledger, transfers } = await readDepositLogs(this.#kafka, codec);
    const plain = {
      deposits: plainDeposits(addresses, ledger),
      watch: { ...TURN, ...plainWatch(addresses, transfers) },
    };
    const violations: string[] = [];
    for (const [schema, tables] of Object.entries(plain))
      for (const what of differences(await readTables(pool, schema), tables))
        violations.push(`${schema}: table and plain fold differ: ${what}`);
    return {
      logs: {
        [DEPOSIT_ADDRESSES.name]: { events: addresses.length, repeated: misplaced(addresses) },
        [TREASURY_LEDGER.name]: { events: ledger.length, repeated: misplaced(ledger) },
      },
      violations,
    };
  }

  async #audit(): Promise<Audited> {
    const { addresses, operator } = this.#cluster;
    const settings = { ...defaultSettings, ...operator };
    const { stdout, stderr } = await runOps(addresses, ['audit', '--json'], settings);
    if (stdout === '') throw new Error(stderr);
    return JSON.parse(stdout);
  }

  async close(): Promise<void> {
    await this.#watchers?.close();
  }
}

export async function clusterFaultRun(
  { kills }: { readonly kills: number },
  { seed, progress }: Given,
): Promise<ClusterReport> {
  const cluster = await startCluster({ with_proxies: true });
  const run = new ClusterRun(cluster, seed);
  const { processes, blows } = run;
  try {
    await processes.whileAllRun(run.start());
    progress('the cluster is ready');
    for (let kill = 1; kill <= kills; kill++) {
      const told = await processes.whileAllRun(run.round());
      progress(`blow ${kill} of ${kills}: ${told}`);
    }
    const report = await processes.whileAllRun(run.judged());
    return { ...report, struck: blows.counts };
  } catch (cause) {
    throw new Error(`${messageOf(cause)}\n${processes.lastLines()}`, { cause });
  } finally {
    await run.close();
    await cluster.stop();
  }
}

export const cluster: FaultRun<'kills'> = {
  about:
    'three secured brokers, Postgres and Redis with a replica, every service twice, while the chain moves and deposits arrive: kills,\n' +
    'freezes and cuts off leaders and followers, kills and freezes holders of leases, projectors and gateways, fails Postgres and\n' +
    'Redis over; then holds the node, the logs, the tables and the sockets against each other',
  options: { kills: { about: 'how many blows', default: 50 } },
  run: clusterFaultRun,
};
