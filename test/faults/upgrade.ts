/**
 * The fault run of upgrades, as docs/operations/upgrade.md says: an earlier version makes a log,
 * this one goes on with its data, the earlier one comes back, and this one comes again. Checks out
 * the earlier version from this clone's history and installs its packages.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { folderAt, type Folder } from '../../infra/local/stack/folder.ts';
import { portNames, portVariable, type PortName } from '../../infra/services/ports.ts';
import { ops } from '../services/ops/operator.ts';
import { runMain } from '../support/command-line.ts';
import { takePort } from '../support/free-ports.ts';
import { removeSystem } from '../support/kept-logs.ts';
import { goodToken, SECRET } from '../support/tokens.ts';
import { until } from '../support/until.ts';
import { walletOf } from '../support/wallets.ts';
import type { FaultReport, FaultRun, Given } from './fault-run.ts';

const HERE = join(import.meta.dirname, '../..');

interface Earlier {
  readonly commit: string;
  /** of the commit */
  readonly date: string;
  /** in its start on a log of this version: why it does not go on */
  readonly refusal: RegExp;
}

/** Versions without `LedgerPinned`, the oldest first. */
const EARLIER: readonly Earlier[] = [
  {
    commit: 'e7f1abe5',
    date: '2026-11-22',
    refusal: /the tables of explorer are of version \d+, this software writes version 2/,
  },
  {
    commit: 'a6219f0a',
    date: '2026-11-25',
    refusal: /^ *halted +treasury .*upgrade this reader first/m,
  },
];

/** In micro-USDT: one that is minted, and one above the cap of a single mint. */
const PAID = ['10000000', '2500000000'] as const;
const SETTLED: ReadonlySet<string> = new Set(['credited', 'needs_manual']);

export const upgrade: FaultRun<'versions'> = {
  about:
    'data of earlier versions under this one, back and forth, as docs/operations/upgrade.md says:\n' +
    'deposits stay as they were, new ones are credited, tables equal the log, the audit holds, and the earlier version says why it does not go on',
  options: { versions: { about: 'earlier ones, the newest first', default: EARLIER.length } },
  async run({ versions }, given) {
    const reports: FaultReport[] = [];
    for (const earlier of EARLIER.toReversed().slice(0, versions))
      reports.push(await upgradeFrom(earlier, given));
    return {
      lines: reports.flatMap(({ lines }) => lines),
      violations: reports.flatMap(({ violations }) => violations),
    };
  },
};

/** Runs a program in a folder. Throws an error with what it has printed when it fails. */
function runIn(folder: string, program: string, ...args: readonly string[]): void {
  const { status, stderr } = spawnSync(program, args, { cwd: folder, encoding: 'utf8' });
  if (status !== 0)
    throw new Error(`"${program} ${args.join(' ')}" failed in ${folder}: ${stderr}`);
}

async function upgradeFrom(earlier: Earlier, given: Given): Promise<FaultReport> {
  const { commit, date } = earlier;
  const folder = mkdtempSync(join(tmpdir(), 'clt-test-earlier-'));
  const checkout = join(folder, 'checkout');
  given.progress(`${commit} of ${date}: checking it out and installing its packages`);
  runIn(HERE, 'git', 'worktree', 'add', '--detach', checkout, commit);
  const stack = await Installation.open();
  try {
    runIn(checkout, 'npm', 'ci');
    return await new UpgradeRun(stack, checkout, given).run(earlier);
  } finally {
    await stack.close();
    runIn(HERE, 'git', 'worktree', 'remove', '--force', checkout);
    rmSync(folder, { recursive: true });
  }
}

/** One folder of data with its ports, which the local stack of any version takes. */
class Installation {
  readonly folder: Folder;
  readonly #ports: ReadonlyMap<PortName, number>;
  readonly #releases: readonly (() => void)[];
  #checkout: string | undefined;

  static async open(): Promise<Installation> {
    const taken = await Promise.all(
      portNames.map(async (name) => [name, await takePort()] as const),
    );
    return new Installation(
      folderAt(mkdtempSync(join(tmpdir(), 'clt-test-upgrade-'))),
      new Map(taken.map(([name, { port }]) => [name, port])),
      taken.map(([, { release }]) => release),
    );
  }

  private constructor(
    folder: Folder,
    ports: ReadonlyMap<PortName, number>,
    releases: readonly (() => void)[],
  ) {
    this.folder = folder;
    this.#ports = ports;
    this.#releases = releases;
  }

  url(name: PortName): string {
    return `http://127.0.0.1:${this.#ports.get(name)}`;
  }

  /** Stops the version that runs, and starts that of `checkout` on the same data. */
  async change(checkout: string): Promise<void> {
    const { code, printed } = await this.attempt(checkout);
    if (code !== 0) throw new Error(`"up" of ${checkout} failed: ${printed}`);
  }

  /** As `change`; resolves to the exit code of `up` and its text. */
  async attempt(checkout: string): Promise<Ended> {
    await this.stop();
    this.#checkout = checkout;
    return this.#main('up', checkout);
  }

  async stop(): Promise<void> {
    if (this.#checkout !== undefined) await this.#main('down', this.#checkout);
    this.#checkout = undefined;
  }

  async close(): Promise<void> {
    await this.stop();
    for (const release of this.#releases) release();
    removeSystem(this.folder);
  }

  async #main(command: 'up' | 'down', checkout: string): Promise<Ended> {
    const settings = {
      APP_LOCAL_DIR: this.folder.root,
      APP_JWT_SECRET: SECRET,
      ...Object.fromEntries(
        [...this.#ports].map(([name, port]) => [portVariable(name), String(port)]),
      ),
    };
    const run = runMain([command], settings, checkout);
    const code = await run.ended();
    return { code, printed: run.printed() };
  }
}

interface Ended {
  readonly code: number | NodeJS.Signals;
  readonly printed: string;
}

interface Listed {
  readonly deposits: readonly { readonly id: string; readonly status: string }[];
}

class UpgradeRun {
  readonly #stack: Installation;
  readonly #earlier: string;
  readonly #given: Given;
  readonly #violations: string[] = [];
  #users = 0;

  constructor(stack: Installation, earlier: string, given: Given) {
    this.#stack = stack;
    this.#earlier = earlier;
    this.#given = given;
  }

  async run({ commit, refusal }: Earlier): Promise<FaultReport> {
    await this.#stack.change(this.#earlier);
    const settled = await Promise.all(PAID.map((paid) => this.#pay(paid)));
    this.#given.progress(`${commit}: ${settled.length} deposits are settled; upgrading`);

    await this.#stack.change(HERE);
    await this.#expectSame(settled, 'after the upgrade');
    const [, held] = settled;
    const id = held?.listed.deposits[0]?.id ?? '';
    await this.#ops('deposit', 'approve', id, '--actor', 'anna', '--reason', 'seen on TRON');
    settled.push(await this.#pay(PAID[0]));
    await this.#expectWhole('after the upgrade');

    this.#given.progress(`${commit}: going back`);
    const { printed } = await this.#stack.attempt(this.#earlier);
    if (!refusal.test(printed))
      this.#violations.push(`${commit} does not say why it stops at the new log: ${printed}`);

    this.#given.progress(`${commit}: upgrading again`);
    await this.#stack.change(HERE);
    await this.#pay(PAID[0]);
    await this.#expectWhole('after the second upgrade');
    return { lines: [`${commit}: there, back and there again`], violations: this.#violations };
  }

  /** A new user pays; resolves to what the gateway says once nothing more happens by itself. */
  async #pay(value: string): Promise<{ readonly token: string; readonly listed: Listed }> {
    const pk = walletOf('raw', `user ${++this.#users}`).account;
    const token = goodToken({ pk, exp: Math.floor(Date.now() / 1_000) + 3_600 });
    const { address } = await this.#ask<{ readonly address: string }>(token, 'POST');
    await fetch(`${this.#stack.url('devnet')}/admin/tron/transfers`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ to: address, value }),
    });
    await until(
      () => this.#ask<Listed>(token),
      'the deposit to be settled',
      ({ deposits }) => SETTLED.has(deposits[0]?.status ?? ''),
    );
    return { token, listed: await this.#ask<Listed>(token) };
  }

  async #ask<Answer>(token: string, method = 'GET'): Promise<Answer> {
    const response = await fetch(`${this.#stack.url('deposit')}/api/v1/deposits`, {
      method,
      headers: { authorization: `Bearer ${token}` },
    });
    const answer: Answer = await response.json();
    return answer;
  }

  async #expectSame(
    settled: readonly { readonly token: string; readonly listed: Listed }[],
    when: string,
  ): Promise<void> {
    for (const { token, listed } of settled) {
      const now = JSON.stringify(await this.#ask<Listed>(token));
      if (now !== JSON.stringify(listed))
        this.#violations.push(`${when} ${JSON.stringify(listed)} is shown as ${now}`);
    }
  }

  async #expectWhole(when: string): Promise<void> {
    for (const words of [['verify', 'all'], ['audit'], ['quarantine', 'list']])
      await this.#ops(...words).catch((error: unknown) => {
        this.#violations.push(`${when}: ${String(error)}`);
      });
  }

  /** Rejects with what it has printed when its exit code is not 0. */
  async #ops(...words: readonly string[]): Promise<void> {
    const { code, stdout, stderr } = await ops('--stack', this.#stack.folder.stack_file, ...words);
    if (code !== 0)
      throw new Error(`"ops ${words.join(' ')}" ended with ${code}: ${stdout}${stderr}`);
  }
}
