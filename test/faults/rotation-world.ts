/** A cluster whose secrets are replaced by the commands of a page, with deposits under way. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { toHex } from '../../schemas/address.ts';
import type { CommandCluster, Ended } from '../support/command-cluster.ts';
import { accountAt } from '../support/deposit-log.ts';
import { shellBlocks } from '../support/documents.ts';
import type { Random } from '../support/random.ts';
import { goodToken } from '../support/tokens.ts';
import { until } from '../support/until.ts';
import { askDevnet, ClusterDeposits } from './cluster-deposits.ts';
import { Readers, Subscriber } from './rotation-readers.ts';

export const PAGE = 'docs/operations/rotation.md';
const PAYMENTS_MAX = 40;
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
  readonly deposits: ClusterDeposits;
  readonly #prelude: string;

  constructor(cluster: CommandCluster, random: Random) {
    this.cluster = cluster;
    this.token_secret = String(cluster.file()['jwt_secret']);
    const token = (): string => this.tokenOf(this.token_secret);
    this.deposits = new ClusterDeposits(cluster, random, PAYMENTS_MAX, () => this.token_secret);
    this.readers = new Readers(cluster, token);
    this.subscriber = new Subscriber(cluster, SUBSCRIBED, token);
    const [prelude] = shellBlocks(PAGE);
    this.#prelude = `export APP_OPERATOR_PASSWORD='${PASSWORD}'\n${prelude?.code ?? ''}`;
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
  admin(path: string, body?: object): Promise<Readonly<Record<string, unknown>>> {
    return askDevnet(this.cluster, path, body);
  }

  /** A new deposit is credited, the subscriber sees it, and the socket has a valid token. */
  async goesOn(after: string): Promise<void> {
    const { results } = this.subscriber;
    // so many payments that the subscribed account has one of them
    for (let paid = 0; paid < this.deposits.accounts; paid++) await this.deposits.pay();
    await this.deposits.credited(after);
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
    return [
      ...this.violations,
      ...this.readers.violations,
      ...this.subscriber.violations,
      ...(await this.deposits.violations('postgres-1')),
      ...(code === 0 ? [] : [`ops audit exited with ${String(code)}: ${printed.slice(-500)}`]),
    ];
  }
}
