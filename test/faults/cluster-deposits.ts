/** Deposits of a cluster that a person runs: each payment has to be credited. */
import { withClient } from '../../infra/postgres/databases.ts';
import type { CommandCluster, PostgresName } from '../support/command-cluster.ts';
import { HANG_MS } from '../support/limits.ts';
import type { Random } from '../support/random.ts';
import { until } from '../support/until.ts';
import { Depositors } from './depositors.ts';
import { SETTINGS, TREASURY } from './mint-settings.ts';
import { Payments, type DepositRow } from './payments.ts';

/** The gateway lists as many deposits of an account, without further pages. */
const LISTED_MAX = 20;
const USD = 1_000_000;

/** The settings of services that a run of deposits on a cluster needs. */
export const DEPOSIT_SERVICES = {
  ...SETTINGS.devnet,
  ...SETTINGS['tron-watcher'],
  ...TREASURY,
  APP_RATE_PER_SECOND: '0',
};

/** Asks the devnet's operator, who posts a body where there is one. */
export async function askDevnet(
  cluster: CommandCluster,
  path: string,
  body?: object,
): Promise<Readonly<Record<string, unknown>>> {
  const response = await fetch(`http://127.0.0.1:${cluster.ports[0].devnet}/admin${path}`, {
    headers: { 'content-type': 'application/json' },
    ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`);
  return Object(JSON.parse(text));
}

export class ClusterDeposits {
  readonly #cluster: CommandCluster;
  readonly #depositors: Depositors;
  readonly #payments: Payments;
  readonly #random: Random;
  /** how many have an address */
  readonly accounts: number;

  /** `payments`: how many at most; `tokenSecret` signs the tokens of the accounts. */
  constructor(
    cluster: CommandCluster,
    random: Random,
    payments: number,
    tokenSecret = (): string => String(cluster.file()['jwt_secret']),
  ) {
    this.#cluster = cluster;
    this.#random = random;
    this.accounts = Math.ceil(payments / LISTED_MAX);
    const gateways = cluster.ports.slice(0, 2).map(({ deposit }) => `http://127.0.0.1:${deposit}`);
    this.#depositors = new Depositors(() => random.pick(gateways), random, tokenSecret);
    this.#payments = new Payments((path, body) => askDevnet(cluster, path, body));
  }

  /** How many payments. */
  get made(): number {
    return this.#payments.made;
  }

  /** Some accounts have addresses, and a payment is credited. */
  async start(): Promise<void> {
    for (let account = 0; account < this.accounts; account++) await this.#depositors.open(account);
    await this.pay();
    await this.credited('the start');
  }

  /** Makes a payment; the accounts are paid in turn, so that each list has all deposits. */
  async pay(): Promise<void> {
    const to = this.#depositors.addresses.get(this.#payments.made % this.accounts);
    if (to === undefined) throw new Error('an account has no address yet');
    const value = BigInt(3 * USD + this.#random.below(20 * USD));
    await this.#payments.pay([{ to, value }]);
  }

  /** Resolves when the lists of all accounts show every payment as credited. */
  async credited(after: string): Promise<void> {
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

  async violations(primary: PostgresName): Promise<readonly string[]> {
    const { rows } = await withClient(
      this.#cluster.superuserUrl(primary),
      (client) =>
        client.query<DepositRow>(
          'SELECT tx_id, log_index, deposit_address, gross::text FROM deposits.deposits',
        ),
      HANG_MS,
    );
    return [...this.#payments.unlike(rows), ...this.#depositors.violations];
  }
}
