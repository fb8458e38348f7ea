/**
 * The fault run of fail-overs: a cluster as a person runs it, with deposits under way. Its page's
 * commands end the primary of Postgres and promote the replica, to and fro. Payments are made while
 * there is no primary and after the promotion, and all have to be credited.
 */
import { setTimeout as after } from 'node:timers/promises';
import {
  otherOf,
  startCommandCluster,
  type CommandCluster,
  type PostgresName,
} from '../support/command-cluster.ts';
import { rowsOf } from '../support/database.ts';
import { Random } from '../support/random.ts';
import { until } from '../support/until.ts';
import { ClusterDeposits, DEPOSIT_SERVICES } from './cluster-deposits.ts';
import { recoveryLines, type FaultReport, type FaultRun, type Given } from './fault-run.ts';

const PAYMENTS_EACH = 3;
/** between two looks: each opens a connection, and without a rest they take all the processor */
const LOOK_MS = 50;
const POSTGRES = ['postgres-1', 'postgres-2'] as const;
const MEASURED = 'from a promotion until a payment is credited';

/** Looks again and again whether both servers may be written to. */
class Looking {
  looks = 0;
  both = 0;
  #isOver = false;
  readonly #ended: Promise<void>;

  constructor(cluster: CommandCluster) {
    this.#ended = this.#look(cluster);
  }

  async #look(cluster: CommandCluster): Promise<void> {
    while (!this.#isOver) {
      const primaries = await Promise.all(POSTGRES.map((name) => isPrimary(cluster, name)));
      this.looks++;
      if (primaries.every(Boolean)) this.both++;
      await after(LOOK_MS);
    }
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await this.#ended;
  }
}

async function isPrimary(cluster: CommandCluster, name: PostgresName): Promise<boolean> {
  const asked = rowsOf(cluster.superuserUrl(name), 'SELECT pg_is_in_recovery() AS follows');
  // one that was killed, or starts, does not answer
  const [row] = await asked.catch(() => []);
  return row?.['follows'] === false;
}

class FailOvers {
  readonly recoveries: { readonly struck: string; readonly ms: number }[] = [];
  readonly #cluster: CommandCluster;
  readonly #deposits: ClusterDeposits;
  #primary: PostgresName = 'postgres-1';
  #downs = 0;

  constructor(cluster: CommandCluster, times: number, random: Random) {
    this.#cluster = cluster;
    this.#deposits = new ClusterDeposits(cluster, random, 1 + times * PAYMENTS_EACH);
  }

  async start(): Promise<void> {
    await this.#deposits.start();
  }

  /** Fails over once; gives a line for people. */
  async round(): Promise<string> {
    const cluster = this.#cluster;
    const former = this.#primary;
    const replica = otherOf(former);
    await this.#deposits.pay();
    await cluster.kill(former);
    this.#downs++;
    await until(
      () => cluster.run.printed(),
      `${former} to stay down`,
      (printed) => printed.split('and stays down').length > this.#downs,
    );
    await this.#deposits.pay();
    const begun = performance.now();
    await cluster.promote(replica);
    this.#primary = replica;
    await this.#deposits.pay();
    await this.#deposits.credited(`the promotion of ${replica}`);
    const ms = Math.round(performance.now() - begun);
    this.recoveries.push({ struck: `${replica} promoted`, ms });
    await until(() => this.#follows(former), `${former} to follow ${replica}`);
    return `${replica} was promoted; all ${this.#deposits.made} payments were credited ${ms} ms later`;
  }

  async #follows(name: PostgresName): Promise<boolean> {
    const sql = "SELECT status FROM pg_stat_wal_receiver WHERE status = 'streaming'";
    const rows = await rowsOf(this.#cluster.superuserUrl(name), sql).catch(() => []);
    return rows.length === 1;
  }

  async violations(): Promise<readonly string[]> {
    return await this.#deposits.violations(this.#primary);
  }
}

async function run({ times }: { readonly times: number }, given: Given): Promise<FaultReport> {
  const cluster = await startCommandCluster([], DEPOSIT_SERVICES);
  try {
    given.progress('the cluster is ready');
    const looking = new Looking(cluster);
    const failOvers = new FailOvers(cluster, times, new Random(given.seed));
    try {
      await failOvers.start();
      for (let time = 1; time <= times; time++)
        given.progress(`fail-over ${time} of ${times}: ${await failOvers.round()}`);
    } finally {
      await looking.end();
    }
    return {
      lines: [
        ...recoveryLines(MEASURED, failOvers.recoveries),
        `looks at both servers: ${looking.looks}`,
      ],
      violations: [
        ...(await failOvers.violations()),
        ...(looking.both > 0 ? [`both servers could be written to, ${looking.both} times`] : []),
      ],
    };
  } finally {
    await cluster.stop();
  }
}

export const failover: FaultRun<'times'> = {
  about:
    'a cluster by its own command, whose primary of Postgres is killed and whose replica is promoted as docs/operations/cluster.md\n' +
    'says, to and fro, while deposits arrive: each is credited, and never may both servers be written to',
  options: { times: { about: 'how many fail-overs', default: 50 } },
  run,
};
