/**
 * The fault run of rebuilds: every projection is rebuilt while the system works and is read; each
 * rebuild is killed at random moments and continued, and the earlier tables are put back. No reader
 * may see an error, and the final tables must equal the logs.
 */
import { setTimeout as after } from 'node:timers/promises';
import { toTronAddress } from '../../schemas/tron-address.ts';
import { PROJECTIONS } from '../../services/projector/registry.ts';
import { depositKey, USDT_CONTRACT } from '../support/deposit-log.ts';
import { Random } from '../support/random.ts';
import { startStack, type ServiceHandle, type Stack } from '../support/stack.ts';
import { SECRET } from '../support/tokens.ts';
import { until } from '../support/until.ts';
import { auditedElsewhere, PROJECTORS } from './auditor.ts';
import { Depositors } from './depositors.ts';
import { countsLine, type FaultReport, type FaultRun, type Given } from './fault-run.ts';
import { NO_STEP, rebuildStep, spawnOps, type OpsRun } from './ops-run.ts';
import { PatientReaders } from './patient-readers.ts';

const SERVICES = [
  'devnet',
  'chain-ingester',
  ...PROJECTORS,
  'deposit-gateway',
  'tron-watcher',
  'treasury',
  'explorer-gateway',
  'hub-gateway',
] as const;
const UNLIMITED = { APP_RATE_PER_SECOND: '0' };
const SETTINGS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'explorer-gateway': { ...UNLIMITED, APP_ANSWERS_KEPT_MAX: '0' },
  'hub-gateway': UNLIMITED,
  'deposit-gateway': { ...UNLIMITED, APP_JWT_SECRET: SECRET },
};
const DEPOSITORS = 20;
const USD = 1_000_000;
const IDLE_MS = 15_000;
/** From its first step: a rebuild of one minute's traffic takes a second or two then. */
const KILL_WITHIN_MS = 2_000;

export const rebuild: FaultRun<'kills' | 'seconds'> = {
  about:
    'rebuilds every projection while the whole system works and is read, kills each rebuild at random moments and goes on with it, verifies it,\n' +
    'puts the earlier tables back and verifies those; nobody who reads may be told anything but 200.\n' +
    'In the end an auditor with a copy of the log and an empty database must get the same tables, and the audit must pass',
  options: {
    kills: { about: 'how many kills of the rebuild of each projection', default: 10 },
    seconds: { about: 'of traffic before the first rebuild', default: 30 },
  },
  async run({ kills, seconds }, given) {
    const stack = await startStack();
    try {
      return await new RebuildRun(stack, given).run(kills, seconds);
    } finally {
      await stack.stop();
    }
  },
};

class RebuildRun {
  readonly #stack: Stack;
  readonly #random: Random;
  readonly #progress: (line: string) => void;
  readonly #running = new Map<string, ServiceHandle>();
  readonly #lines: string[] = [];
  readonly #violations: string[] = [];

  constructor(stack: Stack, { seed, progress }: Given) {
    this.#stack = stack;
    this.#random = new Random(seed);
    this.#progress = progress;
  }

  async run(kills: number, seconds: number): Promise<FaultReport> {
    for (const name of SERVICES) {
      const service = await this.#stack.spawnService(name, {
        APP_LOG_LEVEL: 'warn',
        ...SETTINGS[name],
      });
      await service.ready();
      this.#running.set(name, service);
    }
    const depositors = new Depositors(() => this.#urlOf('deposit-gateway'), this.#random);
    await depositors.join(Array.from({ length: DEPOSITORS }, (_, at) => at));
    await this.#pay();
    this.#progress('everything runs');
    await after(seconds * 1_000);

    const readers = new PatientReaders(
      { explorer: this.#urlOf('explorer-gateway'), hub: this.#urlOf('hub-gateway') },
      depositors,
      this.#random,
    );
    readers.p99();
    await after(IDLE_MS);
    const idle = readers.p99();
    for (const { name } of PROJECTIONS) await this.#rebuild(name, kills);
    const meanwhile = readers.p99();
    await readers.stop();
    this.#progress('the auditor has a copy of the log, and an empty database');
    this.#violations.push(...(await auditedElsewhere(this.#stack, this.#running)));
    await this.#expect(['audit'], { APP_USDT_CONTRACT: toTronAddress(USDT_CONTRACT) });
    return {
      lines: [
        ...this.#lines,
        `readers: ${readers.requests} answers; p99 of the explorer ${idle.toFixed(1)} ms idle, ${meanwhile.toFixed(1)} ms meanwhile (${(meanwhile / idle).toFixed(2)})`,
      ],
      violations: [...this.#violations, ...readers.violations, ...depositors.violations],
    };
  }

  #urlOf(name: string): string {
    const service = this.#running.get(name);
    if (service === undefined) throw new Error(`${name} does not run`);
    return service.url;
  }

  get #adminUrl(): string {
    return `http://127.0.0.1:${this.#stack.ports.devnet}/admin`;
  }

  /** To each depositor something of its own, so that every table of deposits has rows. */
  async #pay(): Promise<void> {
    const key = depositKey();
    for (let at = 0; at < DEPOSITORS; at++) {
      const to = toTronAddress(key.addressAt(at));
      const body = JSON.stringify({ to, value: String((at + 1) * USD) });
      await fetch(`${this.#adminUrl}/tron/transfers`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
      });
    }
    await until(
      () => this.#ops(['deposit', 'list', '--status', 'credited', '--json']),
      'a deposit that is credited',
      (seen) => seen.includes('credited'),
    );
  }

  async #rebuild(name: string, kills: number): Promise<void> {
    const killed: Record<string, number> = {};
    let whole = 0;
    for (let kill = 0; kill < kills; kill++) {
      const run = this.#spawn(['rebuild', name]);
      const begun = until(
        () => rebuildStep(run.printed()),
        `the first step of ${name}`,
        (step) => step !== NO_STEP,
      );
      const ended = await Promise.race([
        run.ended(),
        begun.then(() => after(this.#random.below(KILL_WITHIN_MS), 'killed' as const)),
      ]);
      if (ended === 'killed') {
        run.kill();
        const step = rebuildStep(run.printed());
        killed[step] = (killed[step] ?? 0) + 1;
      } else whole++;
      if (ended !== 'killed' && ended !== 0)
        this.#violations.push(`rebuild ${name} ended with ${ended}: ${run.printed()}`);
      await run.ended();
    }
    const told = `${name}: killed ${kills - whole} of ${kills} times (${countsLine(killed)})`;
    this.#progress(told);
    await this.#expect(['rebuild', name]);
    await this.#expect(['verify', name]);
    await this.#expect(['rebuild', name, '--rollback']);
    const verified = await this.#expect(['verify', name]);
    this.#lines.push(`${told}; ${verified.trim().split('\n').at(-1) ?? ''}`);
  }

  /** It must end with 0. What it has printed. */
  async #expect(
    args: readonly string[],
    settings: Readonly<Record<string, string>> = {},
  ): Promise<string> {
    const run = this.#spawn(args, settings);
    const code = await run.ended();
    if (code !== 0)
      this.#violations.push(`ops ${args.join(' ')} ended with ${code}: ${run.printed()}`);
    return run.printed();
  }

  async #ops(args: readonly string[]): Promise<string> {
    const run = this.#spawn(args);
    await run.ended();
    return run.printed();
  }

  #spawn(args: readonly string[], settings: Readonly<Record<string, string>> = {}): OpsRun {
    return spawnOps(this.#stack.addresses, args, settings);
  }
}
