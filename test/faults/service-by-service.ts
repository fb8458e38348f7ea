/**
 * An upgrade as docs/operations/upgrade.md orders it: an earlier version runs, payments
 * arrive and the gateways are read, and one service after the other is stopped with SIGTERM and
 * started as this version. Servers and the devnet stay those of the earlier version.
 */
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import type { Server } from '../../infra/local/process/server.ts';
import { localAddresses, serviceServer } from '../../infra/local/stack/services.ts';
import { folderSettings } from '../../infra/local/stack/settings.ts';
import { describeStack, writeStackFile } from '../../infra/local/stack/stack-file.ts';
import { folderAt } from '../../infra/local/stack/folder.ts';
import { settlePostgres } from '../../infra/postgres/databases.ts';
import { services } from '../../infra/services/services.ts';
import type { StackSettings } from '../../infra/services/settings.ts';
import { Random } from '../support/random.ts';
import { specOf } from '../support/stack.ts';
import { until } from '../support/until.ts';
import type { FaultReport, Given } from './fault-run.ts';
import { notWhole, tokenOf, untilSettled, type Installation } from './installation.ts';
import { Outages } from './outages.ts';
import { listed, question, Readers, type Question } from './readers.ts';

const PAGE = join(import.meta.dirname, '../../docs/operations/upgrade.md');
const PAID = '10000000';
const PAUSE_MS = 2_000;
const READS_PER_SECOND = 10;
/** Both versions answer these. */
const READ: readonly Question[] = [
  { gateway: 'explorer-gateway', path: '/api/v1/blocks?limit=50' },
  { gateway: 'explorer-gateway', path: '/api/v1/transactions?limit=50' },
  question('{ listRideRequests { txHash fare } }'),
  listed(1),
];

/** The services in the order of the page's table; `ops`, the first, is of this version. */
function pageOrder(): readonly string[] {
  const rows = readFileSync(PAGE, 'utf8').matchAll(/^\| \d+ \| (.+?) \|/gm);
  return Array.from(rows, ([, cell = '']) => cell).flatMap((cell) =>
    services
      .map(({ name }) => name)
      .filter((name) =>
        cell.startsWith('projectors')
          ? name.startsWith('projector-')
          : cell.includes(`\`${name}\``),
      ),
  );
}

export async function upgradeByService(
  stack: Installation,
  checkout: string,
  commit: string,
  given: Given,
): Promise<FaultReport> {
  await stack.change(checkout);
  given.progress(`${commit}: upgrading service by service`);
  const run = new ServiceByService(stack, given);
  try {
    return await run.run(commit);
  } finally {
    await run.stop();
  }
}

class ServiceByService {
  readonly #stack: Installation;
  readonly #given: Given;
  readonly #outages = new Outages();
  readonly #upgraded: Server[] = [];
  readonly #tokens: string[] = [];
  readonly #lines: string[] = [];

  constructor(stack: Installation, given: Given) {
    this.#stack = stack;
    this.#given = given;
  }

  async run(commit: string): Promise<FaultReport> {
    const { seed } = this.#given;
    const readers = new Readers((name) => this.#urlOf(name), new Random(seed), READ);
    const stopping = new AbortController();
    const traffic = Promise.all([
      readers.run(READS_PER_SECOND, stopping.signal),
      this.#deposit(stopping.signal),
    ]);
    const settings = await folderSettings(this.#stack.settings, this.#stack.folder);
    try {
      await until(
        () => this.#tokens.length,
        'a first deposit',
        (count) => count > 0,
      );
      await settlePostgres(`127.0.0.1:${this.#stack.ports.postgres}`);
      for (const name of pageOrder()) await this.#exchange(name, settings);
      const paid = this.#tokens.length;
      await until(
        () => this.#tokens.length,
        'a last deposit',
        (count) => count > paid,
      );
    } finally {
      stopping.abort();
      await traffic;
    }
    for (const token of this.#tokens) await untilSettled(this.#stack, token);
    const { ms, failures } = readers.take();
    const when = `${commit}, service by service`;
    return {
      lines: [
        `${when}: ${this.#tokens.length} deposits, ${ms.length} reads, of which ${failures.length} failed`,
        ...this.#lines,
      ],
      violations: [
        ...failures
          .filter((failure) => !this.#outages.excuses(failure))
          .map(({ told }) => `${when}: ${told}`),
        ...(await notWhole(this.#stack, when, this.#describe(settings))),
      ],
    };
  }

  async stop(): Promise<void> {
    for (const server of this.#upgraded.toReversed()) await server.stop();
  }

  #urlOf(gateway: string): string {
    return this.#stack.url(specOf(gateway).ports[0]);
  }

  /** New users pay, one after the other, also while the deposit-gateway is away. */
  async #deposit(signal: AbortSignal): Promise<void> {
    for (let user = 1; !signal.aborted; user++) {
      const token = tokenOf(`user ${user}`);
      await until(
        () => this.#stack.pay(token, PAID),
        'an address and a payment',
        () => true,
      );
      this.#tokens.push(token);
      // no limit: a pace
      await after(PAUSE_MS);
    }
  }

  /** Stops the service of the earlier version, and waits until this version of it is ready. */
  async #exchange(name: string, settings: StackSettings): Promise<void> {
    const spec = specOf(name);
    const { folder, ports } = this.#stack;
    const end = this.#outages.begin(name);
    const begun = performance.now();
    await endProcess(name, pidsOf(folder.stack_file)[name]);
    const server = serviceServer(spec, settings, localAddresses(ports), ports, folder, {});
    this.#upgraded.push(server);
    await server.start();
    end();
    const seconds = ((performance.now() - begun) / 1_000).toFixed(1);
    const state = server.halted === undefined ? 'ready' : `halted: ${server.halted}`;
    this.#lines.push(`  ${name}: ${state} after ${seconds} s`);
    this.#given.progress(`  ${name}: ${state} after ${seconds} s`);
  }

  /** Writes a stack file of this version about the processes that run, and returns its path. */
  #describe(settings: StackSettings): string {
    const { folder, ports } = this.#stack;
    const upgraded = this.#upgraded.flatMap(({ name, pid }) =>
      pid === undefined ? [] : [[name, pid]],
    );
    const pids = { ...pidsOf(folder.stack_file), ...Object.fromEntries(upgraded) };
    const own = folderAt(join(folder.root, 'upgraded'));
    mkdirSync(own.root, { recursive: true });
    const at = localAddresses(ports);
    writeStackFile(own, describeStack(folder, ports, at, settings, pids));
    return own.stack_file;
  }
}

function pidsOf(stackFile: string): Readonly<Record<string, number>> {
  const { pids }: { readonly pids: Readonly<Record<string, number>> } = JSON.parse(
    readFileSync(stackFile, 'utf8'),
  );
  return pids;
}

/** Asks a process to end with SIGTERM, and waits for it; undefined: there is none. */
async function endProcess(name: string, pid: number | undefined): Promise<void> {
  if (pid === undefined) return;
  process.kill(pid, 'SIGTERM');
  await until(
    () => isAlive(pid),
    `${name} of the earlier version to end`,
    (alive) => !alive,
  );
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
