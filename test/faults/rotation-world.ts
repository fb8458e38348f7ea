/** A cluster whose secrets are replaced by the commands of a page, with deposits under way. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { withClient } from '../../infra/postgres/databases.ts';
import { toHex } from '../../schemas/address.ts';
import type { CommandCluster, Ended } from '../support/command-cluster.ts';
import { accountAt } from '../support/deposit-log.ts';
import { shellBlocks } from '../support/documents.ts';
import { HANG_MS } from '../support/limits.ts';
import type { Random } from '../support/random.ts';
import { goodToken } from '../support/tokens.ts';
import { until } from '../support/until.ts';
import { Depositors } from './depositors.ts';
import { Payments, type DepositRow } from './payments.ts';
import { Readers, Subscriber, urlsOf } from './rotation-readers.ts';

export const PAGE = 'docs/operations/rotation.md';
const ACCOUNTS = 3;
const USD = 1_000_000;
/** Its balance is subscribed to. */
const [SUBSCRIBED] = [toHex(accountAt(0))];
const PASSWORD = 'a password of the run';

/** One secret, and how the run replaces it: the commands of the page, with claims between them. */
export interface Rotation {
  /** the heading of the page */
  readonly name: string;
  steps(world: RotationWorld): Promise<void>;
}

export class RotationWorld {
  readonly cluster: CommandCluster;
  readonly readers: Readers;
  readonly subscriber: Subscriber;
  readonly violations: string[] = [];
  /** signs the tokens of readers, subscriber and depositors */
  token_secret: string;
  readonly #random: Random;
  readonly #depositors: Depositors;
  readonly #payments: Payments;
  readonly #prelude: string;

  constructor(cluster: CommandCluster, random: Random) {
    this.cluster = cluster;
    this.#random = random;
    this.token_secret = String(cluster.file()['jwt_secret']);
    const token = (): string => this.tokenOf(this.token_secret);
    const gateways = urlsOf(cluster, 'deposit');
    this.#depositors = new Depositors(
      () => random.pick(gateways),
      random,
      () => this.token_secret,
    );
    this.#payments = new Payments((path, body) => this.admin(path, body));
    this.readers = new Readers(cluster, token);
    this.subscriber = new Subscriber(cluster, SUBSCRIBED, token);
    const [prelude] = shellBlocks(PAGE);
    this.#prelude = `export APP_OPERATOR_PASSWORD='${PASSWORD}'\n${prelude?.code ?? ''}`;
  }

  async start(): Promise<void> {
    for (let account = 0; account < ACCOUNTS; account++) await this.#depositors.open(account);
    await this.pay();
    await this.credited('the start');
  }

  /** Runs commands in a shell as the page has it. */
  shell(script: string): Promise<Ended> {
    return this.cluster.shell(`${this.#prelude}${script}`);
  }

  /** Runs commands of the page; rejects where one fails. */
  async paste(script: string): Promise<void> {
    const { code, printed } = await this.shell(script);
    if (code !== 0) throw new Error(`exited with ${String(code)}: ${script}\n${printed}`);
  }

  claim(what: string, holds: boolean): void {
    if (!holds) this.violations.push(`it does not hold that ${what}`);
  }

  /** A file that the page writes below the data of the cluster. */
  file(name: string): string {
    return readFileSync(join(this.cluster.folder.data, name), 'utf8').trim();
  }

  /** A token of the first account. */
  tokenOf(secret: string): string {
    return goodToken({ pk: SUBSCRIBED, exp: 2 ** 40 }, secret);
  }

  /** Asks the operator of the devnet. */
  async admin(path: string, body?: object): Promise<Readonly<Record<string, unknown>>> {
    const url = `http://127.0.0.1:${this.cluster.ports[0].devnet}/admin${path}`;
    const response = await fetch(url, {
      headers: { 'content-type': 'application/json' },
      ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`);
    return Object(JSON.parse(text));
  }

  /** Pays the subscribed account and another one: each list has room for the deposits of a run. */
  async pay(): Promise<void> {
    const addresses = [...this.#depositors.addresses.values()];
    const value = (): bigint => BigInt(3 * USD + this.#random.below(20 * USD));
    const [first = '', ...others] = addresses;
    const other = others[(this.#payments.made / 2) % others.length] ?? '';
    await this.#payments.pay([first, other].map((to) => ({ to, value: value() })));
  }

  /** Resolves when the lists of all accounts show every payment as credited. */
  async credited(after: string): Promise<void> {
    await until(
      async () => {
        const accounts = [...this.#depositors.addresses.keys()];
        const lists = await Promise.all(accounts.map((each) => this.#depositors.deposits(each)));
        return lists.flatMap((list) => list ?? []).filter(({ status }) => status === 'credited')
          .length;
      },
      `${this.#payments.made} deposits to be credited, after ${after}`,
      (seen) => seen === this.#payments.made,
    );
  }

  /** A new deposit is credited, the subscriber sees it, and the socket has a valid token. */
  async goesOn(after: string): Promise<void> {
    const { results } = this.subscriber;
    await this.pay();
    await this.credited(after);
    await until(
      () => this.subscriber.results,
      `the subscriber to see the new balance, after ${after}`,
      (seen) => seen > results,
    );
    this.claim(`a socket is signed in after ${after}`, await this.subscriber.isSignedIn());
  }

  /** Ends readers and subscriber; everything that was seen wrong. */
  async judged(): Promise<readonly string[]> {
    const { code, printed } = await this.shell('ops audit\n');
    const sql = 'SELECT tx_id, log_index, deposit_address, gross::text FROM deposits.deposits';
    const { rows } = await withClient(
      this.cluster.superuserUrl('postgres-1'),
      (client) => client.query<DepositRow>(sql),
      HANG_MS,
    );
    return [
      ...this.violations,
      ...this.readers.violations,
      ...this.subscriber.violations,
      ...this.#depositors.violations,
      ...this.#payments.unlike(rows),
      ...(code === 0 ? [] : [`ops audit exited with ${String(code)}: ${printed.slice(-500)}`]),
    ];
  }
}
