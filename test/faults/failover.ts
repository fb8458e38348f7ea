/**
 * The fault run of fail-overs: a cluster as a person runs it, with deposits under way. Its page's
 * commands end the primary of Postgres and promote the replica, to and fro. Payments are made while
 * there is no primary and after the promotion, and all have to be credited.
 */
import { withClient } from '../../infra/postgres/databases.ts';
import {
  otherOf,
  startCommandCluster,
  type CommandCluster,
  type PostgresName,
} from '../support/command-cluster.ts';
import { rowsOf } from '../support/database.ts';
import { HANG_MS } from '../support/limits.ts';
import { Random } from '../support/random.ts';
import { SECRET } from '../support/tokens.ts';
import { until } from '../support/until.ts';
import { Depositors } from './depositors.ts';
import { recoveryLines, type FaultReport, type FaultRun, type Given } from './fault-run.ts';
import { SETTINGS, TREASURY } from './mint-settings.ts';
import { Payments, type DepositRow } from './payments.ts';

const PAYMENTS_EACH = 3;
/** The gateway lists as many deposits of an account, without further pages. */
const LISTED_MAX = 20;
const USD = 1_000_000;
const POSTGRES = ['postgres-1', 'postgres-2'] as const;
const MEASURED = 'from a promotion until a payment is credited';
const SERVICES = {
  ...SETTINGS.devnet,
  ...SETTINGS['tron-watcher'],
  ...TREASURY,
  APP_JWT_SECRET: SECRET,
  APP_RATE_PER_SECOND: '0',
};

/** Looks all the time whether both servers may be written to. */
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
  readonly #depositors: Depositors;
  readonly #payments: Payments;
  readonly #random: Random;
  readonly #accounts: number;
  #primary: PostgresName = 'postgres-1';
  #downs = 0;

  constructor(cluster: CommandCluster, times: number, random: Random) {
    this.#accounts = Math.ceil((1 + times * PAYMENTS_EACH) / LISTED_MAX);
    this.#cluster = cluster;
    this.#random = random;
    const gateways = cluster.ports.slice(0, 2).map(({ deposit }) => `http://127.0.0.1:${deposit}`);
    this.#depositors = new Depositors(() => random.pick(gateways), random);
    const admin = `http://127.0.0.1:${cluster.ports[0].devnet}/admin`;
    this.#payments = new Payments(async (path, body) => {
      const response = await fetch(`${admin}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      const text = await response.text();
      if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`);
      return Object(JSON.parse(text));
    });
  }

  async start(): Promise<void> {
    for (let account = 0; account < this.#accounts; account++) await this.#depositors.open(account);
    await this.#pay();
    await this.#credited('the start');
  }

  /** Fails over once; gives a line for people. */
  async round(): Promise<string> {
    const cluster = this.#cluster;
    const former = this.#primary;
    const replica = otherOf(former);
    await this.#pay();
    await cluster.kill(former);
    this.#downs++;
    await until(
      () => cluster.run.printed(),
      `${former} to stay down`,
      (printed) => printed.split('and stays down').length > this.#downs,
    );
    await this.#pay();
    const begun = performance.now();
    await cluster.promote(replica);
    this.#primary = replica;
    await this.#pay();
    await this.#credited(`the promotion of ${replica}`);
    const ms = Math.round(performance.now() - begun);
    this.recoveries.push({ struck: `${replica} promoted`, ms });
    await until(() => this.#follows(former), `${former} to follow ${replica}`);
    return `${replica} was promoted; all ${this.#payments.made} payments were credited ${ms} ms later`;
  }

  async #pay(): Promise<void> {
    // in turn, so that every list has all deposits of its account
    const to = this.#depositors.addresses.get(this.#payments.made % this.#accounts);
    if (to === undefined) throw new Error('an account has no address yet');
    const value = BigInt(3 * USD + this.#random.below(20 * USD));
    await this.#payments.pay([{ to, value }]);
  }

  /** Resolves when the lists of all accounts show every payment as credited. */
  async #credited(after: string): Promise<void> {
    const credited = async (): Promise<number> => {
      const accounts = [...this.#depositors.addresses.keys()];
      const lists = await Promise.all(accounts.map((each) => this.#depositors.deposits(each)));
      return lists.flatMap((list) => list ?? []).filter(({ status }) => status === 'credited')
        .length;
    };
    await until(
      credited,
      `${this.#payments.made} deposits to be credited, after ${after}`,
      (seen) => seen === this.#payments.made,
    );
  }

  async #follows(name: PostgresName): Promise<boolean> {
    const sql = "SELECT status FROM pg_stat_wal_receiver WHERE status = 'streaming'";
    const rows = await rowsOf(this.#cluster.superuserUrl(name), sql).catch(() => []);
    return rows.length === 1;
  }

  async violations(): Promise<readonly string[]> {
    const url = this.#cluster.superuserUrl(this.#primary);
    const { rows } = await withClient(
      url,
      (client) =>
        client.query<DepositRow>(
          'SELECT tx_id, log_index, deposit_address, gross::text FROM deposits.deposits',
        ),
      HANG_MS,
    );
    return [...this.#payments.unlike(rows), ...this.#depositors.violations];
  }
}

async function run({ times }: { readonly times: number }, given: Given): Promise<FaultReport> {
  const cluster = await startCommandCluster([], SERVICES);
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
