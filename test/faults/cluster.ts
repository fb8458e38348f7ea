/**
 * The fault run of the cluster: three secured brokers, Postgres and Redis with a replica, and each
 * service twice, while the chain moves, rides are taken and deposits arrive. Leaders, followers,
 * holders of leases, projectors and gateways are killed, frozen or cut off, and Postgres and Redis
 * fail over. After each blow a newer block and a new deposit have to come through.
 */
import { registry_path } from '../../infra/local/servers/registry.ts';
import { defaultSettings } from '../../infra/services/settings.ts';
import { CHAIN_BLOCKS, DEPOSIT_ADDRESSES, TREASURY_LEDGER } from '../../schemas/topics.ts';
import { openKafka } from '../../services/runtime/kafka/client.ts';
import { readConfig } from '../../services/runtime/process/config.ts';
import { KAFKA_SETTINGS } from '../../services/runtime/process/kafka-settings.ts';
import { startCluster, type Cluster } from '../support/cluster.ts';
import { silentLog } from '../support/kafka.ts';
import { HANG_MS } from '../support/limits.ts';
import { goodToken, SECRET } from '../support/tokens.ts';
import { until } from '../support/until.ts';
import { ClusterBlows, primaryOf, superuserUrl, type ClusterPlace } from './cluster-blows.ts';
import { Depositors } from './depositors.ts';
import type { FaultReport, FaultRun, Given } from './fault-run.ts';
import { answersOf, someRider, watchedLists, Watchers } from './hub-watchers.ts';
import { SETTINGS, TREASURY } from './mint-settings.ts';
import { System, watched } from './system.ts';
import { comesToRest, verdict } from './verdict.ts';

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
const PROJECTIONS = ['explorer', 'ride_market', 'series', 'watch', 'deposits'];
const SHOWN = 'from a blow until a newer block is shown';
const CREDITED = 'from a blow until payments made after it are credited';

/** Both instances. */
function both(name: string): readonly string[] {
  return [name, `${name}/2`];
}

class ClusterRun {
  readonly blows: ClusterBlows;
  readonly #system: System<ClusterPlace>;
  readonly #depositors: Depositors;
  #watchers: Watchers | undefined;

  constructor(system: System<ClusterPlace>) {
    this.#system = system;
    this.blows = new ClusterBlows(system);
    const gateways = both('deposit-gateway');
    let asked = 0;
    const gateway = (): string => system.urlOf(gateways[asked++ % 2] ?? '');
    this.#depositors = new Depositors(gateway, system.random);
  }

  async start(): Promise<void> {
    await this.#system.start(TWICE.flatMap(both));
    await this.#system.ready(['treasury', 'hub-gateway'].flatMap(both));
    for (let account = 0; account < ACCOUNTS; account++) await this.#depositors.open(account);
    await this.#system.shown('the start');
    await this.#pay();
    const lists = watchedLists(await someRider(this.#system.node));
    this.#watchers = await Watchers.open(this.#system.urlOf('hub-gateway'), SOCKETS, lists);
  }

  /** Strikes once, and waits until a newer block and a new deposit came through. */
  async round(): Promise<string> {
    const system = this.#system;
    const begun = performance.now();
    const what = await this.blows.strike();
    system.note(what);
    await this.#pay();
    const shown = Promise.all([this.#gatewayShows(what), system.shown(what)]).then(() =>
      system.recovered(SHOWN, what, begun),
    );
    const credited = until(
      () => system.credited(),
      `${system.payments.made} deposits to be credited, after: ${what}`,
      (seen) => seen === system.payments.made,
    ).then(() => system.recovered(CREDITED, what, begun));
    const [block, deposits] = await Promise.all([shown, credited]);
    await this.blows.mend();
    return `${what}; a newer block after ${block} ms, new deposits credited after ${deposits} ms`;
  }

  #pay(): Promise<void> {
    const { payments, random } = this.#system;
    return payments.pay(
      Array.from({ length: PAYMENTS }, () => ({
        to: this.#depositors.addresses.get(random.below(ACCOUNTS)) ?? '',
        value: BigInt(3 * USD + random.below(20 * USD)),
      })),
    );
  }

  /** Resolves when any explorer shows a block that is not made yet. */
  async #gatewayShows(after: string): Promise<void> {
    const { height } = (await this.#system.node.chain()).head;
    const shown = async (slot: string): Promise<number> => {
      const url = `${this.#system.urlOf(slot)}/api/v1/stats`;
      const answer = await fetch(url, { signal: AbortSignal.timeout(HANG_MS) });
      return Number(Object(await answer.json()).latest_height ?? -1);
    };
    await until(
      () => Promise.all(both('explorer-gateway').map((slot) => shown(slot).catch(() => -1))),
      `a block above ${height} at an explorer, after: ${after}`,
      (heights) => Math.max(...heights) > height,
    );
  }

  async judged(): Promise<FaultReport> {
    const system = this.#system;
    await comesToRest(system);
    const watchers = this.#watchers;
    if (watchers === undefined) throw new Error('nobody watches');
    // every socket shows what the query answers
    const token = goodToken({ pk: `0x${'aa'.repeat(20)}`, exp: 2 ** 40 }, SECRET);
    await watchers.untilRight(() => answersOf(system.urlOf('hub-gateway'), watchers.lists, token));
    const ended = [...both('tron-watcher'), ...both('treasury')];
    const undrained = await system.processes.drain(ended);
    const report = await verdict(system, {
      projections: PROJECTIONS,
      depositors: this.#depositors,
      others: 0,
      counted: [CHAIN_BLOCKS, DEPOSIT_ADDRESSES, TREASURY_LEDGER],
    });
    const sum = (of: 'events' | 'dead'): number =>
      report.logs.reduce((total, log) => total + log[of], 0);
    const [dead, events] = [sum('dead'), sum('events')];
    const share = `${((100 * dead) / events).toFixed(2)} %`;
    const leaders = Object.entries(system.struck)
      .filter(([what]) => what.startsWith('leader of '))
      .reduce((total, [, times]) => total + times, 0);
    const deadMax = Math.max(DEAD_MAX, DEAD_SHARE_MAX * events) + leaders * CATCH_UP_EVENTS;
    return {
      lines: [
        ...report.lines,
        `${watchers.results} results at ${SOCKETS} sockets; ${dead} of ${events} events without effect (${share})`,
      ],
      violations: [
        ...report.violations,
        ...watchers.wrong,
        ...undrained,
        ...(dead > deadMax ? [`${dead} records are dead, ${share}`] : []),
      ],
    };
  }

  async close(): Promise<void> {
    await this.#watchers?.close();
  }
}

function placeOf(cluster: Cluster): ClusterPlace {
  const { addresses, folder, operator, ports } = cluster;
  const settings = readConfig(operator, KAFKA_SETTINGS);
  return {
    cluster,
    addresses,
    folder,
    admin_port: ports[0].devnet,
    kafka: openKafka(settings, 'fault-run', silentLog()),
    // past the proxy, which asks for an account
    registry_url: `http://127.0.0.1:${ports[0].registry_inside}${registry_path}`,
    operator: { ...defaultSettings, ...operator },
    postgresUrl: async () => superuserUrl(cluster, await primaryOf(cluster)),
    spawnService: (name, extra) => cluster.spawnService(name, extra),
  };
}

async function run({ kills }: { readonly kills: number }, given: Given): Promise<FaultReport> {
  const cluster = await startCluster({ with_proxies: true });
  try {
    return await watched(new System(placeOf(cluster), SERVICES, given), async (system) => {
      const striking = new ClusterRun(system);
      try {
        await striking.start();
        system.progress('the cluster is ready');
        for (let kill = 1; kill <= kills; kill++)
          system.progress(`blow ${kill} of ${kills}: ${await striking.round()}`);
        return await striking.judged();
      } finally {
        await striking.close();
      }
    });
  } finally {
    await cluster.stop();
  }
}

export const cluster: FaultRun<'kills'> = {
  about:
    'three secured brokers, Postgres and Redis with a replica, every service twice, while the chain moves and deposits arrive: kills,\n' +
    'freezes and cuts off leaders and followers, kills and freezes holders of leases, projectors and gateways, fails Postgres and\n' +
    'Redis over; then each payment has to be minted once, and the tables and sockets have to be what the logs and queries say',
  options: { kills: { about: 'how many blows', default: 50 } },
  run,
};
