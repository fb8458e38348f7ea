/** A stack on a folder and ports of its own, on which several versions run one after the other. */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { folderAt, type Folder } from '../../infra/local/stack/folder.ts';
import { portNames, portVariable, type PortName, type Ports } from '../../infra/services/ports.ts';
import { readPorts } from '../../infra/local/stack/ports.ts';
import { ops } from '../services/ops/operator.ts';
import { runMain, type CommandRun } from '../support/command-line.ts';
import { takePort } from '../support/free-ports.ts';
import { removeSystem } from '../support/kept-logs.ts';
import { goodToken, SECRET } from '../support/tokens.ts';
import { until } from '../support/until.ts';
import { walletOf } from '../support/wallets.ts';

const HERE = join(import.meta.dirname, '../..');

/** States of a deposit that end only by a person. */
const SETTLED: ReadonlySet<string> = new Set(['credited', 'needs_manual']);

/** One folder of data with its ports, which the local stack of any version takes. */
export class Installation {
  readonly folder: Folder;
  readonly ports: Ports;
  /** of its processes, besides the environment */
  readonly settings: Readonly<Record<string, string>>;
  readonly #releases: readonly (() => void)[];
  #checkout: string | undefined;

  static async open(): Promise<Installation> {
    const taken = await Promise.all(
      portNames.map(async (name) => [name, await takePort()] as const),
    );
    return new Installation(
      folderAt(mkdtempSync(join(tmpdir(), 'clt-test-installed-'))),
      Object.fromEntries(taken.map(([name, { port }]) => [portVariable(name), String(port)])),
      taken.map(([, { release }]) => release),
    );
  }

  /** Opens one, and closes it after `run`. */
  static async with<Result>(run: (stack: Installation) => Promise<Result>): Promise<Result> {
    const stack = await Installation.open();
    try {
      return await run(stack);
    } finally {
      await stack.close();
    }
  }

  private constructor(
    folder: Folder,
    ports: Readonly<Record<string, string>>,
    releases: readonly (() => void)[],
  ) {
    this.folder = folder;
    this.ports = readPorts(ports);
    this.settings = { APP_LOCAL_DIR: folder.root, APP_JWT_SECRET: SECRET, ...ports };
    this.#releases = releases;
  }

  url(name: PortName): string {
    return `http://127.0.0.1:${this.ports[name]}`;
  }

  /** Stops the version that runs, and starts that of `checkout` on the same data. */
  async change(checkout: string): Promise<void> {
    const { code, printed } = await this.attempt(checkout);
    if (code !== 0) throw new Error(`"up" of ${checkout} failed: ${printed}`);
  }

  /** As `change`; resolves to the exit code of `up` and its text. */
  async attempt(checkout: string): Promise<Started> {
    await this.stop();
    return this.main(['up'], checkout);
  }

  /** The command line of the local stack, of this version or that of `checkout`. */
  async main(words: readonly string[], checkout = HERE): Promise<Started> {
    const run = this.run(words, checkout);
    const code = await run.ended();
    return { code, printed: run.printed() };
  }

  /** As `main`, before it has ended. */
  run(words: readonly string[], checkout = HERE): CommandRun {
    this.#checkout = checkout;
    return runMain(words, this.settings, checkout);
  }

  async stop(): Promise<void> {
    if (this.#checkout !== undefined) await this.main(['down'], this.#checkout);
    this.#checkout = undefined;
  }

  async close(): Promise<void> {
    await this.stop();
    for (const release of this.#releases) release();
    removeSystem(this.folder);
  }

  /** The account of this token pays so much to its deposit address. */
  async pay(token: string, value: string): Promise<void> {
    const { address } = await this.#ask<{ readonly address: string }>(token, 'POST');
    await fetch(`${this.url('devnet')}/admin/tron/transfers`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ to: address, value }),
    });
  }

  deposits(token: string): Promise<Listed> {
    return this.#ask<Listed>(token);
  }

  /** Runs `ops` of this version. Rejects with what it has printed when its exit code is not 0. */
  async ops(stackFile: string, ...words: readonly string[]): Promise<void> {
    const { code, stdout, stderr } = await ops('--stack', stackFile, ...words);
    if (code !== 0)
      throw new Error(`"ops ${words.join(' ')}" ended with ${code}: ${stdout}${stderr}`);
  }

  /** Rejects where the answer is no 2xx. */
  async #ask<Answer>(token: string, method = 'GET'): Promise<Answer> {
    const response = await fetch(`${this.url('deposit')}/api/v1/deposits`, {
      method,
      headers: { authorization: `Bearer ${token}` },
    });
    if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
    const answer: Answer = await response.json();
    return answer;
  }
}

export interface Started {
  readonly code: number | NodeJS.Signals;
  readonly printed: string;
}

export interface Listed {
  readonly deposits: readonly { readonly id: string; readonly status: string }[];
}

/** A token of a new user with this name. */
export function tokenOf(user: string): string {
  const pk = walletOf('raw', user).account;
  return goodToken({ pk, exp: Math.floor(Date.now() / 1_000) + 3_600 });
}

/** Resolves when nothing more happens to the deposit of a user by itself. */
export async function untilSettled(stack: Installation, token: string): Promise<void> {
  await until(
    () => stack.deposits(token),
    'the deposit to be settled',
    ({ deposits }) => SETTLED.has(deposits[0]?.status ?? ''),
  );
}

/** Why tables do not equal the log, or the audit does not hold; empty: they do. */
export async function notWhole(
  stack: Installation,
  when: string,
  stackFile = stack.folder.stack_file,
): Promise<readonly string[]> {
  const violations: string[] = [];
  for (const words of [['verify', 'all'], ['audit'], ['quarantine', 'list']])
    await stack.ops(stackFile, ...words).catch((error: unknown) => {
      violations.push(`${when}: ${String(error)}`);
    });
  return violations;
}
