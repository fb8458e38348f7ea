/**
 * The fault run of upgrades, as docs/operations/upgrade.md says: an earlier version makes a log,
 * this one goes on with its data, the earlier one comes back, and this one comes again. Then the
 * earlier version is replaced service by service. It is checked out from this clone's history.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FaultReport, FaultRun, Given } from './fault-run.ts';
import { Installation, notWhole, tokenOf, untilSettled, type Listed } from './installation.ts';
import { upgradeByService } from './service-by-service.ts';

const HERE = join(import.meta.dirname, '../..');

interface Earlier {
  readonly commit: string;
  /** of the commit */
  readonly date: string;
  /** in its start on a log of this version: why it does not go on */
  readonly refusal: RegExp;
  /** whether it is upgraded service by service, too */
  readonly by_service: boolean;
}

/** Versions without `LedgerPinned`, the oldest first. */
const EARLIER: readonly Earlier[] = [
  {
    commit: 'e7f1abe5',
    date: '2026-11-22',
    refusal: /the tables of explorer are of version \d+, this software writes version 2/,
    by_service: false,
  },
  {
    commit: 'a6219f0a',
    date: '2026-11-25',
    refusal: /the tables of explorer are of version \d+, this software writes version 3/,
    by_service: true,
  },
];

/** In micro-USDT: one that is minted, and one above the cap of a single mint. */
const PAID = ['10000000', '2500000000'] as const;

export const upgrade: FaultRun<'versions'> = {
  about:
    'data of earlier versions under this one, back and forth, as docs/operations/upgrade.md says:\n' +
    'deposits stay as they were, new ones are credited, tables equal the log, the audit holds, and the earlier version says why it does not go on.\n' +
    'Then from the newest of them service by service, in the order of that page, while deposits arrive and gateways are read',
  options: { versions: { about: 'earlier ones, the newest first', default: EARLIER.length } },
  async run({ versions }, given) {
    const reports: FaultReport[] = [];
    for (const earlier of EARLIER.toReversed().slice(0, versions))
      reports.push(await upgradeFrom(earlier, given));
    return joined(reports);
  },
};

/** Runs a program in a folder. Throws an error with what it has printed when it fails. */
function runIn(folder: string, program: string, ...args: readonly string[]): void {
  const { status, stderr } = spawnSync(program, args, { cwd: folder, encoding: 'utf8' });
  if (status !== 0)
    throw new Error(`"${program} ${args.join(' ')}" failed in ${folder}: ${stderr}`);
}

async function upgradeFrom(earlier: Earlier, given: Given): Promise<FaultReport> {
  const { commit, date, by_service: byService } = earlier;
  const folder = mkdtempSync(join(tmpdir(), 'clt-test-earlier-'));
  const checkout = join(folder, 'checkout');
  given.progress(`${commit} of ${date}: checking it out and installing its packages`);
  runIn(HERE, 'git', 'worktree', 'add', '--detach', checkout, commit);
  try {
    runIn(checkout, 'npm', 'ci');
    const whole = await Installation.with((stack) =>
      new UpgradeRun(stack, checkout, given).run(earlier),
    );
    if (!byService) return whole;
    return joined([
      whole,
      await Installation.with((stack) => upgradeByService(stack, checkout, commit, given)),
    ]);
  } finally {
    runIn(HERE, 'git', 'worktree', 'remove', '--force', checkout);
    rmSync(folder, { recursive: true });
  }
}

function joined(reports: readonly FaultReport[]): FaultReport {
  return {
    lines: reports.flatMap(({ lines }) => lines),
    violations: reports.flatMap(({ violations }) => violations),
  };
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
    const token = tokenOf(`user ${++this.#users}`);
    await this.#stack.pay(token, value);
    await untilSettled(this.#stack, token);
    return { token, listed: await this.#stack.deposits(token) };
  }

  async #expectSame(
    settled: readonly { readonly token: string; readonly listed: Listed }[],
    when: string,
  ): Promise<void> {
    for (const { token, listed } of settled) {
      const now = JSON.stringify(await this.#stack.deposits(token));
      if (now !== JSON.stringify(listed))
        this.#violations.push(`${when} ${JSON.stringify(listed)} is shown as ${now}`);
    }
  }

  async #expectWhole(when: string): Promise<void> {
    this.#violations.push(...(await notWhole(this.#stack, when)));
  }

  async #ops(...words: readonly string[]): Promise<void> {
    await this.#stack.ops(this.#stack.folder.stack_file, ...words);
  }
}
