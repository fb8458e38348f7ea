/**
 * The fault run of the cluster: three secured brokers, Postgres and Redis with a replica, two
 * instances of each service on the chain's path. Leaders, followers, holders of the lease,
 * primaries and projectors are killed or frozen; after each blow a newer block must show. At the
 * end the node, the log and the tables are held against each other.
 */
import { Client, Pool } from 'pg';
import { brokerName } from '../../infra/cluster/kafka.ts';
import { logEnvironment } from '../../infra/cluster/environment.ts';
import { OPERATOR } from '../../infra/kafka/acls.ts';
import { clusterAddresses } from '../../infra/local/cluster/layout.ts';
import { postgresAccess } from '../../infra/local/cluster/servers.ts';
import { registry_path } from '../../infra/local/servers/registry.ts';
import { postgresUrl } from '../../infra/postgres/databases.ts';
import { database } from '../../infra/postgres/settings.ts';
import { CHAIN_BLOCKS } from '../../schemas/topics.ts';
import { openKafka, withAdmin } from '../../services/runtime/kafka/client.ts';
import { ChainNode } from '../../services/runtime/clt-node.ts';
import type { Kafka } from '../../services/runtime/kafka/port.ts';
import { readConfig } from '../../services/runtime/process/config.ts';
import { messageOf } from '../../services/runtime/process/errors.ts';
import { KAFKA_SETTINGS } from '../../services/runtime/process/kafka-settings.ts';
import { startCluster, type Cluster } from '../support/cluster.ts';
import { openCodec } from '../support/codec.ts';
import { silentLog } from '../support/kafka.ts';
import { Random } from '../support/random.ts';
import type { ServiceHandle } from '../support/stack.ts';
import { until } from '../support/until.ts';
import { judgeChain, type ChainVerdict } from './chain-verdict.ts';
import {
  countsLine,
  recoveryLine,
  type FaultReport,
  type FaultRun,
  type Given,
} from './fault-run.ts';
import { heightIn } from './head-height.ts';
import { figureOf } from './processes.ts';

const DEVNET = {
  APP_BLOCK_INTERVAL_MS: '250',
  APP_TRAFFIC_PER_SECOND: '20',
  APP_FINALITY_DEPTH: '8',
};
const TWICE = ['chain-ingester', 'projector-explorer', 'projector-ride-market', 'explorer-gateway'];
const BROKERS = [1, 2, 3] as const;
const POSTGRES = ['postgres-1', 'postgres-2'] as const;
const PATIENCE_MS = 120_000;
/** Records without effect that are bearable. */
const DEAD_SHARE_MAX = 0.01;
const LAST_LINES = 8;

export interface ClusterReport extends FaultReport {
  readonly struck: Readonly<Record<string, number>>;
  readonly verdict: ChainVerdict;
}

class ClusterRun {
  readonly struck: Record<string, number> = {};
  readonly recoveries: number[] = [];
  readonly kafka: Kafka;
  readonly #cluster: Cluster;
  readonly #random: Random;
  readonly #services = new Map<string, ServiceHandle>();
  readonly #node: ChainNode;
  #deck: (() => Promise<string>)[] = [];

  constructor(cluster: Cluster, seed: number) {
    this.#cluster = cluster;
    this.#random = new Random(seed);
    this.#node = new ChainNode(this.nodeUrl, new AbortController().signal);
    const { passwords } = cluster.secrets;
    const environment = logEnvironment(
      OPERATOR,
      passwords,
      clusterAddresses(cluster.ports, cluster.secrets),
    );
    const settings = readConfig(environment, KAFKA_SETTINGS);
    this.kafka = openKafka({ ...settings, client_id: 'fault-run' }, silentLog());
  }

  get nodeUrl(): string {
    return `http://127.0.0.1:${this.#cluster.ports[0].node}`;
  }

  /** Past the proxy, which asks for an account: the registry listens on this machine only. */
  get registryUrl(): string {
    return `http://127.0.0.1:${this.#cluster.ports[0].registry_inside}${registry_path}`;
  }

  async start(): Promise<void> {
    await (await this.#spawn('devnet', DEVNET)).ready(PATIENCE_MS);
    for (const name of TWICE) for (const slot of [name, `${name}/2`]) await this.#spawn(slot);
    await until(async () => (await this.#height()) > 5, 'the first blocks', PATIENCE_MS);
  }

  async #spawn(slot: string, extra: Readonly<Record<string, string>> = {}): Promise<ServiceHandle> {
    const [name = ''] = slot.split('/');
    const service = await this.#cluster.spawnService(name, { APP_RATE_PER_SECOND: '0', ...extra });
    this.#services.set(slot, service);
    return service;
  }

  /** Strikes once, and waits until a block shows that the node made afterwards. */
  async strike(): Promise<string> {
    if (this.#deck.length === 0) this.#deck = this.#blows();
    const [blow] = this.#deck.splice(this.#random.below(this.#deck.length), 1);
    const begun = performance.now();
    const what = (await blow?.()) ?? 'nothing';
    const { head } = await this.#node.chain();
    await until(
      async () => (await this.#height()) > head.height,
      `a block above ${head.height} at the explorer, after: ${what}`,
      PATIENCE_MS,
    );
    await until(
      async () => ((await this.#marketHeight()) ?? -1) > head.height,
      `a block above ${head.height} in the ride market, after: ${what}`,
      PATIENCE_MS,
    );
    this.recoveries.push(Math.round(performance.now() - begun));
    await this.#mend();
    this.struck[what] = (this.struck[what] ?? 0) + 1;
    return what;
  }

  #frozen: { kill(signal: NodeJS.Signals): Promise<void> }[] = [];
  #stopped: (() => Promise<void>)[] = [];

  /** All run again: frozen ones go on, killed ones are started. */
  async #mend(): Promise<void> {
    for (const each of this.#frozen.splice(0)) await each.kill('SIGCONT');
    for (const start of this.#stopped.splice(0)) await start();
  }

  #blows(): (() => Promise<string>)[] {
    return [
      () => this.#broker('leader', 'killed'),
      () => this.#broker('leader', 'frozen'),
      () => this.#broker('follower', 'killed'),
      () => this.#service('chain-ingester', 'killed'),
      () => this.#service('chain-ingester', 'frozen'),
      () => this.#service('projector-explorer', 'killed'),
      () => this.#service('explorer-gateway', 'killed'),
      () => this.#failOver(),
      () => this.#redis(),
    ];
  }

  async #broker(role: 'leader' | 'follower', how: 'killed' | 'frozen'): Promise<string> {
    const { partitions } = await withAdmin(this.kafka, (admin) =>
      admin.describeTopic(CHAIN_BLOCKS.name, []),
    );
    const leader = partitions[0]?.leader ?? 1;
    const id =
      role === 'leader' ? leader : this.#random.pick(BROKERS.filter((one) => one !== leader));
    await this.#hit(brokerName(id), how);
    return `${role} of chain.blocks ${how}`;
  }

  async #hit(server: string, how: 'killed' | 'frozen'): Promise<void> {
    const handle = this.#cluster.server(server);
    await handle.kill(how === 'killed' ? 'SIGKILL' : 'SIGSTOP');
    if (how === 'frozen') this.#frozen.push(handle);
    else this.#stopped.push(() => handle.start());
  }

  /** The instance that works, where one does; another one takes over. */
  async #service(name: string, how: 'killed' | 'frozen'): Promise<string> {
    const slots = [name, `${name}/2`];
    const holds = await Promise.all(
      slots.map(async (slot) => figureOf(this.#at(slot), 'lease_held').catch(() => 0)),
    );
    const holder = slots[holds.indexOf(1)];
    const slot = holder ?? this.#random.pick(slots);
    const service = this.#at(slot);
    if (how === 'frozen') {
      await service.kill('SIGSTOP');
      this.#frozen.push(service);
    } else {
      await service.kill('SIGKILL');
      this.#stopped.push(async () => void (await this.#spawn(slot)));
    }
    return `${name}${holder === undefined ? '' : ' with the lease'} ${how}`;
  }

  #at(slot: string): ServiceHandle {
    const service = this.#services.get(slot);
    if (service === undefined) throw new Error(`nothing was started as ${slot}`);
    return service;
  }

  /** The primary is killed, and the replica promoted; the former primary then follows. */
  async #failOver(): Promise<string> {
    const primary = await this.#primary();
    const replica = POSTGRES.find((name) => name !== primary) ?? POSTGRES[1];
    await this.#cluster.server(primary).kill('SIGKILL');
    await this.#asSuperuser(replica, 'SELECT pg_promote()');
    this.#stopped.push(() => this.#cluster.server(primary).start());
    return 'Postgres failed over';
  }

  async #primary(): Promise<(typeof POSTGRES)[number]> {
    for (const name of POSTGRES) {
      const [row] = await this.#asSuperuser(name, 'SELECT pg_is_in_recovery() AS follows');
      if (row?.['follows'] === false) return name;
    }
    throw new Error('no Postgres is a primary');
  }

  async #asSuperuser(
    name: (typeof POSTGRES)[number],
    sql: string,
  ): Promise<readonly Record<string, unknown>[]> {
    const client = new Client({ connectionString: this.#postgresUrl(name) });
    client.on('error', () => undefined);
    await client.connect();
    try {
      return (await client.query<Record<string, unknown>>(sql)).rows;
    } finally {
      await client.end();
    }
  }

  #postgresUrl(name: (typeof POSTGRES)[number]): string {
    const { superuser, parameters } = postgresAccess(this.#cluster.secrets);
    const { port } = this.#cluster.server(name);
    return postgresUrl(superuser, `127.0.0.1:${port}`, database, parameters);
  }

  async #redis(): Promise<string> {
    await this.#hit('redis-1', 'killed');
    return 'redis-1 killed';
  }

  /** The newest block that any gateway shows; -1: none answers. */
  async #height(): Promise<number> {
    const heights = await Promise.all(
      ['explorer-gateway', 'explorer-gateway/2']
        .map(async (slot) => {
          const url = `${this.#at(slot).url}/api/v1/stats`;
          const answer = await fetch(url, { signal: AbortSignal.timeout(3_000) });
          const stats: { readonly latest_height?: number } = JSON.parse(await answer.text());
          return stats.latest_height ?? -1;
        })
        .map((height) => height.catch(() => -1)),
    );
    return Math.max(...heights);
  }

  async #marketHeight(): Promise<number | undefined> {
    const heights = await Promise.all(
      POSTGRES.map((name) => heightIn(this.#postgresUrl(name), 'ride_market')),
    );
    return heights.reduce((most, each) => ((each ?? -1) > (most ?? -1) ? each : most));
  }

  async judged(): Promise<ChainVerdict> {
    const admin = `http://127.0.0.1:${this.#cluster.ports[0].devnet}/admin`;
    for (const [path, body] of [
      ['/traffic', { transactions_per_second: 0 }],
      ['/clt/auto', { enabled: false }],
    ] as const)
      await fetch(`${admin}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    const codec = await openCodec(this.registryUrl, [CHAIN_BLOCKS]);
    const pool = new Pool({ connectionString: this.#postgresUrl(await this.#primary()), max: 1 });
    try {
      return await judgeChain({ kafka: this.kafka, codec, pool, node_url: this.nodeUrl });
    } finally {
      await pool.end();
    }
  }

  lastLines(): string {
    return [...this.#services]
      .map(([slot, each]) => `${slot}:\n${each.log().split('\n').slice(-LAST_LINES).join('\n')}`)
      .join('\n');
  }
}

export async function clusterFaultRun(
  { kills }: { readonly kills: number },
  { seed, progress }: Given,
): Promise<ClusterReport> {
  const cluster = await startCluster();
  const run = new ClusterRun(cluster, seed);
  try {
    await run.start();
    progress('the cluster is ready');
    for (let kill = 1; kill <= kills; kill++) {
      const what = await run.strike();
      progress(
        `blow ${kill} of ${kills}: ${what}, a newer block after ${run.recoveries.at(-1)} ms`,
      );
    }
    const verdict = await run.judged();
    const dead = verdict.repeated / verdict.events;
    return {
      struck: run.struck,
      verdict,
      lines: [
        `struck: ${countsLine(run.struck)}`,
        `log: ${verdict.events} events, ${verdict.repeated} without effect (${(100 * dead).toFixed(2)} %); chain: ${verdict.blocks} blocks, ${verdict.transactions} transactions, ${verdict.trips} trips`,
        recoveryLine(run.recoveries),
      ],
      violations: [
        ...verdict.violations,
        ...(dead > DEAD_SHARE_MAX
          ? [`${verdict.repeated} of ${verdict.events} records had no effect`]
          : []),
      ],
    };
  } catch (cause) {
    throw new Error(`${messageOf(cause)}\n${run.lastLines()}`, { cause });
  } finally {
    await cluster.stop();
  }
}

export const cluster: FaultRun<'kills'> = {
  about:
    'kills and freezes leaders and followers of three brokers, holders of leases, projectors and gateways, and fails Postgres\n' +
    'and Redis over, on secured servers with each service twice; then holds the node, the log and the tables against each other',
  options: { kills: { about: 'how many blows', default: 50 } },
  run: clusterFaultRun,
};
