/**
 * The drills: clocks of services that jump, a full disk of each server and of the logs of services,
 * on a whole system under deposits. Each has to be named by `ops status`, and everything has to go
 * on once it is mended, by the steps of docs/operations/runbook.md.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { services } from '../../infra/services/services.ts';
import { privateKeySigner, signIn } from '../../packages/wallet/src/index.ts';
import { messageOf } from '../../services/runtime/process/errors.ts';
import { fillDisk, mountSmallDisk } from '../support/small-disk.ts';
import { SECRET } from '../support/tokens.ts';
import { systemProgram } from '../support/system-program.ts';
import { until } from '../support/until.ts';
import { Depositors } from './depositors.ts';
import type { FaultReport, FaultRun } from './fault-run.ts';
import { SETTINGS, TREASURY } from './mint-settings.ts';
import { runOps } from './ops-run.ts';
import { onStack, type Settings, type StackPlace, type System } from './system.ts';

const DAY_S = 86_400;
/** Services with a rule about time. */
const CLOCKED = [
  'treasury',
  'tron-watcher',
  'chain-ingester',
  'projector-explorer',
  'deposit-gateway',
  'hub-gateway',
];
/** Seconds, one after the other: more than any rule allows. */
const JUMPS = [DAY_S, -DAY_S];
/** Seconds that `ops status` does not name. */
const STEPS = [2, -2, 0];
const FINAL_BLOCKS = 10;
const SLOTS = services.map(({ name }) => name);
const USD = 1_000_000n;
/** Bytes that a small disk has beyond the data of its server. */
const ROOM = 48 * 2 ** 20;

/** Files with the seconds by which the clock of each service is wrong, for libfaketime. */
class Clocks {
  readonly #folder = mkdtempSync(join(tmpdir(), 'clt-drill-clocks-'));
  readonly #library: string;

  constructor(library: string) {
    this.#library = library;
    for (const name of CLOCKED) this.set(name, 0);
  }

  set(name: string, seconds: number): void {
    const sign = seconds < 0 ? '-' : '+';
    writeFileSync(join(this.#folder, name), `${sign}${Math.abs(seconds)}\n`);
  }

  /** A monotonic clock never jumps. */
  settingsOf(name: string): Readonly<Record<string, string>> {
    return {
      LD_PRELOAD: this.#library,
      FAKETIME_TIMESTAMP_FILE: join(this.#folder, name),
      FAKETIME_CACHE_DURATION: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    };
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true });
  }
}

async function openClocks(): Promise<Clocks | undefined> {
  if ((await systemProgram(['faketime'], 'faketime')) === undefined) return undefined;
  const { stdout } = spawnSync('sh', ['-c', 'ls /usr/lib/*/faketime/libfaketimeMT.so.1'], {
    encoding: 'utf8',
  });
  const [library = ''] = stdout.split('\n');
  return library === '' ? undefined : new Clocks(library);
}

export const drills: FaultRun<never> = {
  about:
    'clocks of services that jump (needs the package faketime), and a full disk of each server (needs root)',
  options: {},
  run: async (_options, given) => {
    const clocks = await openClocks();
    const base: Settings = {
      ...SETTINGS,
      treasury: TREASURY,
      'deposit-gateway': { APP_JWT_SECRET: SECRET, APP_RATE_PER_SECOND: '0' },
      'hub-gateway': { APP_JWT_SECRET: SECRET },
    };
    const clocked = CLOCKED.map((name) => [name, { ...base[name], ...clocks?.settingsOf(name) }]);
    const settings: Settings = { ...base, ...Object.fromEntries(clocked) };
    try {
      return await onStack(settings, given, (system) => new Drills(system, clocks).run());
    } finally {
      clocks?.remove();
    }
  },
};

class Drills {
  readonly #system: System<StackPlace>;
  readonly #clocks: Clocks | undefined;
  readonly #depositors: Depositors;
  readonly #lines: string[] = [];
  readonly #violations: string[] = [];

  constructor(system: System<StackPlace>, clocks: Clocks | undefined) {
    this.#system = system;
    this.#clocks = clocks;
    this.#depositors = new Depositors(() => system.urlOf('deposit-gateway'), system.random);
  }

  async run(): Promise<FaultReport> {
    const system = this.#system;
    await system.start(SLOTS);
    await system.ready(SLOTS);
    await this.#depositors.open(0);
    await this.#goesOn('the start');
    const clocks = this.#clocks;
    if (clocks === undefined)
      this.#tell('clocks were left out: install the package faketime, as root');
    else {
      for (const step of STEPS) {
        for (const name of CLOCKED) clocks.set(name, step);
        await this.#goesOn(`a step of all clocks to ${step} s`);
      }
      this.#tell('steps of all clocks by 2 s: credited, and nothing was named');
      for (const name of CLOCKED) await this.#clock(clocks, name);
    }
    for (const server of ['kafka', 'postgres', 'registry'] as const) await this.#disk(server);
    await this.#logs();
    for (const words of [['verify', 'all'], ['audit']]) {
      const { code, stdout } = await this.#ops(words);
      if (code !== 0) this.#violations.push(`ops ${words.join(' ')}: ${stdout}`);
    }
    return { lines: this.#lines, violations: this.#violations };
  }

  #tell(line: string): void {
    this.#lines.push(line);
    this.#system.progress(line);
  }

  #ops(words: readonly string[]): ReturnType<typeof runOps> {
    const { addresses, operator } = this.#system.place;
    const listed = SLOTS.map((slot) => `${slot}=${this.#system.processes.at(slot).ops_url}`);
    return runOps(addresses, words, { ...operator, APP_STATUS_SERVICES: listed.join(',') });
  }

  async #attention(): Promise<readonly string[]> {
    const { stdout, stderr } = await this.#ops(['status', '--json']);
    if (stdout === '') throw new Error(stderr);
    const { attention }: { readonly attention: readonly string[] } = JSON.parse(stdout);
    return attention;
  }

  /** Resolves once a line matches; notes a violation where a service waits for a person. */
  async #named(what: string, line: RegExp): Promise<readonly string[]> {
    let seen: readonly string[] = [];
    await until(
      async () => (seen = await this.#attention()),
      `ops status to name ${what}`,
      (lines) => lines.some((each) => line.test(each)),
    );
    for (const each of seen)
      if (/HALTED/.test(each)) this.#violations.push(`${what} halts: ${each}`);
    return seen;
  }

  /** A new payment is credited, and nothing needs a person. */
  async #goesOn(after: string): Promise<void> {
    const { payments } = this.#system;
    await payments.pay([{ to: this.#depositors.addresses.get(0) ?? '', value: 20n * USD }]);
    await this.#system.allCredited();
    await until(
      () => this.#attention(),
      `nothing to need a person after ${after}`,
      (lines) => lines.length === 0,
    );
  }

  async #clock(clocks: Clocks, name: string): Promise<void> {
    const seen: string[] = [];
    for (const jump of JUMPS) {
      clocks.set(name, jump);
      const [at, of] = [`${jump / DAY_S} d`, `${name}: its clock is`];
      const { payments } = this.#system;
      await payments.pay([{ to: this.#depositors.addresses.get(0) ?? '', value: 20n * USD }]);
      const apart = new RegExp(`^${of} \\d+ s ${jump > 0 ? 'ahead' : 'behind'}`);
      await this.#named(`${name} at ${at}`, apart);
      const minted = await this.#system.credited();
      // so many that each service has met the wrong time
      await this.#system.blocks(FINAL_BLOCKS, 'final');
      const lines = await this.#named(`${name} at ${at}`, apart);
      const more = (await this.#system.credited()) - minted;
      if (name === 'treasury' && more > 0)
        this.#violations.push(`a treasury whose clock is at ${at} minted`);
      const others = lines.filter((line) => !line.startsWith(of));
      if (name === 'hub-gateway') others.push(`a sign-in: ${await this.#signIn()}`);
      seen.push(`${at}: ${more} credited; ${others.join('; ') || 'nothing else'}`);
    }
    clocks.set(name, 0);
    await this.#goesOn(`the clock of ${name} is right`);
    this.#tell(`clock of ${name}: ${seen.join(' | ')}`);
  }

  #signIn(): Promise<string> {
    const url = `${this.#system.urlOf('hub-gateway')}/graphql`;
    const signer = privateKeySigner(`0x${'11'.repeat(32)}`);
    return signIn({ url, chainId: 7777 }, signer).then(() => 'accepted', messageOf);
  }

  /** The data of the server move to a disk of their own, which is then filled. */
  async #disk(name: 'kafka' | 'postgres' | 'registry'): Promise<void> {
    const { folder, servers } = this.#system.place.stack;
    const [server, data] = [servers[name], join(folder.data, name)];
    const unmount = await this.#moved(data, server);
    if (unmount === undefined)
      return this.#tell(`a full disk of ${name} was left out: this user may not mount one`);
    await this.#goesOn(`${name} on a small disk`);
    const makeRoom = fillDisk(data);
    const { payments } = this.#system;
    await payments.pay([{ to: this.#depositors.addresses.get(0) ?? '', value: 20n * USD }]);
    const word = { kafka: /kafka/, postgres: /storage_full|disk|Postgres/, registry: /./ }[name];
    const seen =
      name === 'registry'
        ? [`it answers ${await this.#register()} to a new schema; services go on`]
        : await this.#named(`${name} on a full disk`, word);
    makeRoom();
    if (server.pid === undefined) await server.start();
    else await server.stop().then(() => server.start());
    await this.#goesOn(`${name} has room`);
    await unmount();
    this.#tell(`full disk of ${name}: ${seen.join('; ')}`);
  }

  /** Moves the stopped server's data; the result moves them back. */
  async #moved(
    data: string,
    server: { stop(): Promise<void>; start(): Promise<void> },
  ): Promise<(() => Promise<void>) | undefined> {
    const before = `${data}-before`;
    await server.stop();
    renameSync(data, before);
    mkdirSync(data);
    const disk = mountSmallDisk(data, usedBytes(before) + ROOM);
    if (disk) copy(before, data);
    else {
      rmSync(data, { recursive: true });
      renameSync(before, data);
    }
    await server.start();
    if (!disk) return undefined;
    return async () => {
      await server.stop();
      rmSync(before, { recursive: true });
      mkdirSync(before);
      copy(data, before);
      spawnSync('umount', [data]);
      rmSync(data, { recursive: true });
      renameSync(before, data);
      await server.start();
    };
  }

  async #register(): Promise<number> {
    const answer = await fetch(`${this.#system.place.registry_url}/subjects/drill/versions`, {
      method: 'POST',
      headers: { 'content-type': 'application/vnd.schemaregistry.v1+json' },
      body: JSON.stringify({ schema: JSON.stringify({ type: 'fixed', name: 'a', size: 9 }) }),
    });
    await answer.arrayBuffer();
    return answer.status;
  }

  /** A treasury goes on whose log has no room. */
  async #logs(): Promise<void> {
    const { logs } = this.#system.place.folder;
    if (!mountSmallDisk(logs, ROOM)) return this.#tell('a full disk of logs was left out');
    await this.#system.processes.kill('treasury');
    await this.#system.processes.at('treasury').ready();
    const makeRoom = fillDisk(logs);
    await this.#goesOn('the log of the treasury is full');
    makeRoom();
    await this.#goesOn('the log of the treasury has room');
    this.#tell(
      `full disk of ${basename(logs)}: the treasury went on, and logged after there was room`,
    );
    spawnSync('umount', ['-l', logs]);
  }
}

function usedBytes(folder: string): number {
  const { stdout } = spawnSync('du', ['-s', '-B1', folder], { encoding: 'utf8' });
  return Number.parseInt(stdout, 10);
}

function copy(from: string, to: string): void {
  const { status, stderr } = spawnSync('cp', ['-a', `${from}/.`, to], { encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr);
}
