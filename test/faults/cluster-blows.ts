/**
 * The blows of the fault run of the cluster. Each one leaves something killed, frozen or cut, until
 * `mend`.
 */
import { brokerName } from '../../infra/cluster/kafka.ts';
import { postgresAccess } from '../../infra/local/cluster/servers.ts';
import { postgresUrl } from '../../infra/postgres/databases.ts';
import { database } from '../../infra/postgres/settings.ts';
import { CHAIN_BLOCKS, TREASURY_LEDGER, TRON_TRANSFERS } from '../../schemas/topics.ts';
import { withAdmin } from '../../services/runtime/kafka/client.ts';
import type { Kafka } from '../../services/runtime/kafka/port.ts';
import type { Cluster } from '../support/cluster.ts';
import { rowsOf } from '../support/database.ts';
import type { FaultProxy } from '../support/fault-proxy.ts';
import { Deck, type Random } from '../support/random.ts';
import { until } from '../support/until.ts';
import { figureOf, type Processes } from './processes.ts';
import type { Place, System } from './system.ts';

const BROKERS = [1, 2, 3] as const;
const POSTGRES = ['postgres-1', 'postgres-2'] as const;
const REDIS = ['redis-1', 'redis-2'] as const;
/** Topics whose leaders are struck. */
const LED = [CHAIN_BLOCKS, TREASURY_LEDGER, TRON_TRANSFERS].map(({ name }) => name);
/** Requests that nobody answers before a cut heals. */
const SWALLOWED = 3;

type How = 'killed' | 'frozen';

export interface ClusterPlace extends Place {
  readonly cluster: Cluster;
}

export class ClusterBlows {
  readonly #cluster: Cluster;
  readonly #kafka: Kafka;
  readonly #processes: Processes;
  readonly #random: Random;
  readonly #deck: Deck<() => Promise<string>>;
  #mends: (() => Promise<unknown>)[] = [];
  #redis: (typeof REDIS)[number] = 'redis-1';

  constructor({ place, processes, random }: System<ClusterPlace>) {
    this.#cluster = place.cluster;
    this.#kafka = place.kafka;
    this.#processes = processes;
    this.#random = random;
    this.#deck = new Deck(this.#blows(), random);
  }

  /** Strikes, and returns a description. Each blow comes once before any repeats. */
  strike(): Promise<string> {
    return this.#deck.draw()();
  }

  /** All run again: frozen ones go on, killed ones are started. */
  async mend(): Promise<void> {
    await this.#processes.thaw();
    for (const mend of this.#mends.splice(0)) await mend();
  }

  #blows(): (() => Promise<string>)[] {
    const service = (name: string, how: How) => () => this.#service(name, how);
    return [
      () => this.#broker('leader', 'killed'),
      () => this.#broker('leader', 'frozen'),
      () => this.#broker('follower', 'killed'),
      () => this.#broker('follower', 'frozen'),
      () => this.#cut('its clients'),
      () => this.#cut('the other brokers'),
      service('chain-ingester', 'killed'),
      service('chain-ingester', 'frozen'),
      service('treasury', 'killed'),
      service('treasury', 'frozen'),
      service('tron-watcher', 'killed'),
      service('projector-explorer', 'killed'),
      service('projector-deposits', 'killed'),
      service('projector-ride-market', 'killed'),
      service('projector-series', 'killed'),
      service('deposit-gateway', 'killed'),
      () => this.#failOverPostgres(),
      () => this.#failOverRedis(),
    ];
  }

  async #broker(role: 'leader' | 'follower', how: How): Promise<string> {
    const topic = this.#random.pick(LED);
    const leader = await this.#leaderOf(topic);
    const id =
      role === 'leader' ? leader : this.#random.pick(BROKERS.filter((one) => one !== leader));
    await this.#hit(brokerName(id), how);
    return `${role} of ${topic} ${how}`;
  }

  /** Bytes to and from the leader are lost for a while, then its connections are reset. */
  async #cut(from: 'its clients' | 'the other brokers'): Promise<string> {
    const topic = this.#random.pick(LED);
    const proxies = this.#cluster.proxies[(await this.#leaderOf(topic)) - 1];
    if (proxies === undefined) throw new Error('no proxies stand before the brokers');
    const { clients, brokers, controllers } = proxies;
    const cut = from === 'its clients' ? [clients] : [brokers, controllers];
    const swallowed = (): number => cut.reduce((sum, { counts }) => sum + counts.black_hole, 0);
    const before = swallowed();
    this.#setMode(cut, 'black_hole');
    await until(
      () => swallowed(),
      'requests to be lost',
      (seen) => seen >= before + SWALLOWED,
    );
    this.#setMode(cut, 'pass');
    for (const proxy of cut) proxy.cut();
    return `leader of ${topic} cut from ${from}`;
  }

  #setMode(proxies: readonly FaultProxy[], mode: FaultProxy['mode']): void {
    for (const proxy of proxies) proxy.mode = mode;
  }

  async #leaderOf(topic: string): Promise<number> {
    let leader = -1;
    await until(async () => {
      const { partitions } = await withAdmin(this.#kafka, (admin) =>
        admin.describeTopic(topic, []),
      );
      leader = partitions[0]?.leader ?? -1;
      return leader !== -1;
    }, `a leader of ${topic}`);
    return leader;
  }

  async #hit(server: string, how: How): Promise<void> {
    const handle = this.#cluster.server(server);
    await handle.kill(how === 'killed' ? 'SIGKILL' : 'SIGSTOP');
    this.#mends.push(() => (how === 'frozen' ? handle.kill('SIGCONT') : handle.start()));
  }

  /** The instance with the lease, where there is one, else any; the other takes over. */
  async #service(name: string, how: How): Promise<string> {
    const slots = [name, `${name}/2`];
    const held = await Promise.all(
      // one that was started just now does not answer yet
      slots.map((slot) => figureOf(this.#processes.at(slot), 'lease_held').catch(() => 0)),
    );
    const holder = slots[held.indexOf(1)];
    const slot = holder ?? this.#random.pick(slots);
    if (how === 'frozen') await this.#processes.freeze(slot);
    else {
      await this.#processes.end(slot);
      this.#mends.push(() => this.#processes.start(slot));
    }
    return `${name}${holder === undefined ? '' : ' with the lease'} ${how}`;
  }

  /** The primary is killed, and the replica promoted; the former primary then follows. */
  async #failOverPostgres(): Promise<string> {
    const primary = await primaryOf(this.#cluster);
    const replica = POSTGRES.find((name) => name !== primary) ?? POSTGRES[1];
    await this.#hit(primary, 'killed');
    await rowsOf(superuserUrl(this.#cluster, replica), 'SELECT pg_promote()');
    return 'Postgres failed over';
  }

  /** The sentinels promote the other one. */
  async #failOverRedis(): Promise<string> {
    await this.#hit(this.#redis, 'killed');
    this.#redis = REDIS.find((name) => name !== this.#redis) ?? REDIS[0];
    return 'Redis failed over';
  }
}

export async function primaryOf(cluster: Cluster): Promise<(typeof POSTGRES)[number]> {
  for (const name of POSTGRES) {
    const asked = rowsOf(superuserUrl(cluster, name), 'SELECT pg_is_in_recovery() AS follows');
    // one that was killed does not answer
    const [row] = await asked.catch(() => []);
    if (row?.['follows'] === false) return name;
  }
  throw new Error('no Postgres is a primary');
}

export function superuserUrl(cluster: Cluster, name: string): string {
  const { superuser, parameters } = postgresAccess(cluster.secrets);
  return postgresUrl(superuser, `127.0.0.1:${cluster.server(name).port}`, database, parameters);
}
