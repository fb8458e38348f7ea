/**
 * The soak: the whole system under everything at once, for an hour. The chain grows and
 * reorganises, deposits arrive, sockets watch the hub or never read, readers ask at even times,
 * projections are rebuilt one after the other, a stranger writes a record of every kind that halts
 * nothing (`forgeries.ts`), and one service or server is killed each minute.
 *
 * After each kill all tables and sockets must show newer blocks, and all payments made before must
 * be credited. Requests and rebuilds may fail only around a kill of what they need.
 *
 * Memory is judged by the lives of a process (`memory-growth.ts`). In the second half of the run
 * the services of SPARED are not killed, so that they live long enough.
 */
import { setTimeout as after } from 'node:timers/promises';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { services } from '../../infra/services/services.ts';
import { PROJECTIONS } from '../../services/projector/registry.ts';
import { CHAIN_BLOCKS } from '../../schemas/topics.ts';
import { parseTronAddress } from '../../schemas/tron-address.ts';
import { AUDITED_TOPICS } from '../../services/ops/audit/audit.ts';
import type { Codec } from '../../services/runtime/kafka/codec.ts';
import { ensureTopics } from '../../services/runtime/kafka/topics.ts';
import { birthsFrom, requestIn } from '../bench/births.ts';
import { missedGoals, save, tableOf, type BenchReport } from '../bench/report.ts';
import { openCodec } from '../support/codec.ts';
import { Deck, Random } from '../support/random.ts';
import { goodToken, SECRET } from '../support/tokens.ts';
import { until } from '../support/until.ts';
import { kill } from './blows.ts';
import { Depositors } from './depositors.ts';
import { countsLine, type FaultReport, type FaultRun } from './fault-run.ts';
import { answersOf, MuteSockets, someRider, watchedLists, Watchers } from './hub-watchers.ts';
import { MemoryLives } from './memory-lives.ts';
import { runOps } from './ops-run.ts';
import { Outages, type Failure } from './outages.ts';
import { figureOf } from './processes.ts';
import { listed, QUESTIONS, Readers } from './readers.ts';
import { percentiles, textOf, type Figure } from './soak-figures.ts';
import { FORGED_DEPOSITS, PLANTS, plantsIn, Stranger } from './stranger.ts';
import { onStack, type StackPlace, type System } from './system.ts';
import { comesToRest, verdict } from './verdict.ts';

const UNLIMITED = { APP_RATE_PER_SECOND: '0' };
const SETTINGS = {
  devnet: { APP_TRAFFIC_PER_SECOND: '10' },
  treasury: { APP_ROLLING_CAP: String(10n ** 15n) },
  'explorer-gateway': UNLIMITED,
  'deposit-gateway': { ...UNLIMITED, APP_JWT_SECRET: SECRET },
  'hub-gateway': { ...UNLIMITED, APP_JWT_SECRET: SECRET },
};
/** The devnet stands for the networks: it is never killed, and keeps its chains in memory. */
const VICTIMS = services.map(({ name }) => name).filter((name) => name !== 'devnet');
/** Not killed in the second half. */
const SPARED: ReadonlySet<string> = new Set([
  'explorer-gateway',
  'hub-gateway',
  'deposit-gateway',
  'projector-ride-market',
  'treasury',
]);
const SERVERS = ['redis', 'kafka', 'postgres'] as const;
/** In the third of so many minutes a server is killed. */
const SERVER_EVERY = 6;
const SERVER_MINUTE = 3;
const MUTE_SHARE = 0.1;
/**
 * The hub ends a socket that has not answered a ping when the next is due, after 12 to 24 s. So
 * these sockets are opened again and again, and hold what the hub has sent meanwhile.
 */
const MUTE_EVERY_MS = 12_000;
/** Accounts that are paid; one more has an address too. */
const ACCOUNTS = 24;
/** Accounts whose deposits are read. */
const ACCOUNTS_READ = 2;
const USD = 1_000_000;
const MINUTE_MS = 60_000;
const PAY_EVERY_MS = 2_000;
const REORGANISE_EVERY_MS = 20_000;
const REORGANISED_MAX = 6;
const REBUILD_PAUSE_MS = 5_000;
const SAMPLE_EVERY_MS = 5_000;
/** A kill comes between so many ms after the minute began, and twice as many. */
const KILL_AFTER_MS = 10_000;
/** The request of a later block may have been taken by a driver before a socket showed it. */
const UNSEEN_AFTER_MS = 30_000;
const TOLD_MAX = 10;
const LOOP_RESOLUTION_MS = 10;
const SHOWN = 'from a restart until all tables and sockets show newer blocks';
const CREDITED = 'from a restart until all payments made before are credited';

type Option = 'minutes' | 'sockets' | 'reads';

export const soak: FaultRun<Option> = {
  about:
    'everything at once for an hour: sockets of which a tenth never read, paced reads, deposits, reorganisations, rebuilds in a loop, forged records, a kill a minute;\n' +
    'latencies and memory by minute go to .local/bench/soak.json; then each payment has to be minted once, the tables and sockets have\n' +
    'to be what the logs and queries say, and the memory of each service is held against itself',
  options: {
    minutes: { about: 'how long, with one kill each', default: 60 },
    sockets: { about: 'each with one subscription', default: 500 },
    reads: { about: 'requests a second to the gateways', default: 50 },
  },
  run: (options, given) =>
    onStack(SETTINGS, given, async (system) => {
      const { kafka, registry_url } = system.place;
      await ensureTopics(kafka, AUDITED_TOPICS);
      const codec = await openCodec(registry_url, AUDITED_TOPICS);
      const run = new Soak(system, codec, options, given.seed);
      try {
        await run.start();
        await run.minutes();
        return await run.judged();
      } finally {
        await run.close();
      }
    }),
};

class Soak {
  readonly #system: System<StackPlace>;
  readonly #codec: Codec;
  readonly #options: Readonly<Record<Option, number>>;
  readonly #seed: number;
  /** of the loops: nobody knows who comes first, and the system's is of victims and moments */
  readonly #others: Random;
  readonly #mute: MuteSockets;
  readonly #depositors: Depositors;
  readonly #readers: Readers;
  readonly #outages = new Outages();
  readonly #over = new AbortController();
  readonly #loopDelay = monitorEventLoopDelay({ resolution: LOOP_RESOLUTION_MS });
  readonly #minutes: (readonly Figure[])[] = [];
  readonly #memory: MemoryLives;
  /** blocks with a ride request that the measured socket has not shown yet */
  #born: { readonly request: string; readonly at: number }[] = [];
  #blockMs: number[] = [];
  /** when each payment was made that is not credited yet; the network decides which is first */
  #uncredited: number[] = [];
  #creditMs: number[] = [];
  #credited = 0;
  #unseen = 0;
  #rebuildMs: number[] = [];
  /** of rebuilds and sockets */
  #failures: Failure[] = [];
  #rebuildsFailed = 0;
  #watchers: Watchers | undefined;
  #stranger: Stranger | undefined;

  constructor(
    system: System<StackPlace>,
    codec: Codec,
    options: Readonly<Record<Option, number>>,
    seed: number,
  ) {
    this.#system = system;
    this.#codec = codec;
    this.#options = options;
    this.#seed = seed;
    this.#others = new Random(seed + 3);
    this.#mute = new MuteSockets(Math.round(options.sockets * MUTE_SHARE));
    this.#memory = new MemoryLives(system.place.stack, system.processes);
    const urlOf = (name: string): string => system.urlOf(name);
    this.#depositors = new Depositors(() => urlOf('deposit-gateway'), new Random(seed + 1));
    const lists = Array.from({ length: ACCOUNTS_READ }, (_, account) => listed(account));
    this.#readers = new Readers(urlOf, new Random(seed + 2), [...QUESTIONS, ...lists]);
  }

  async start(): Promise<void> {
    const names = services.map(({ name }) => name);
    await this.#system.start(names);
    await this.#system.ready(names);
    for (let account = 0; account <= ACCOUNTS; account++) await this.#depositors.open(account);
    const address = parseTronAddress(this.#depositors.addresses.get(ACCOUNTS) ?? '');
    if (address === undefined) throw new Error('the gateway has told no address');
    this.#stranger = new Stranger(this.#system.place.kafka, this.#codec, {
      random: this.#others,
      accounts: ACCOUNTS + 1,
      unpaid: { index: ACCOUNTS, address },
    });
    await until(
      () => this.#system.rows('SELECT 1 FROM reserve.runs LIMIT 1'),
      'a reserve run',
      (seen) => seen.length > 0,
    );
    const lists = watchedLists(await someRider(this.#system.node));
    const count = this.#options.sockets - this.#mute.count;
    // the last one of the ride requests, which is served last
    const measured = count - 1 - ((count - 1) % lists.length);
    this.#watchers = await Watchers.open(this.#hubUrl, count, lists, {
      reopened: (code) => this.#noteFailure(['hub-gateway'], `a socket was closed with ${code}`),
      heard: (at, payload) => {
        if (at === measured) this.#heard(payload);
      },
    });
    this.#system.progress(`all runs, ${count} sockets read and ${this.#mute.count} do not`);
  }

  async minutes(): Promise<void> {
    const { signal } = this.#over;
    const loops = [
      this.#readers.run(this.#options.reads, signal),
      this.#births(),
      this.#every(PAY_EVERY_MS, () => this.#pay()),
      this.#every(500, () => this.#follow()),
      this.#every(REORGANISE_EVERY_MS, () =>
        this.#system.reorganise(REORGANISED_MAX, this.#others),
      ),
      this.#every(MUTE_EVERY_MS, () => this.#renewMute()),
      this.#every(SAMPLE_EVERY_MS, () => this.#memory.sample()),
      this.#rebuild(),
    ];
    this.#loopDelay.enable();
    const all = Promise.all(loops);
    await Promise.race([all, this.#kills()]);
    this.#over.abort();
    await all;
    this.#judge('at the end', [...this.#readers.take().failures, ...this.#failures]);
  }

  async #kills(): Promise<void> {
    const { minutes } = this.#options;
    const servers = new Deck(SERVERS, this.#system.random);
    const first = new Deck(VICTIMS, this.#system.random);
    const second = new Deck(
      VICTIMS.filter((name) => !SPARED.has(name)),
      this.#system.random,
    );
    for (let minute = 1; minute <= minutes; minute++) {
      const end = performance.now() + MINUTE_MS;
      await after(KILL_AFTER_MS + this.#system.random.below(KILL_AFTER_MS));
      const isOfServer = minute % SERVER_EVERY === SERVER_MINUTE;
      const ofServices = minute > minutes / 2 ? second : first;
      const victim = isOfServer ? servers.draw() : ofServices.draw();
      const told = await this.#strike(victim);
      await this.#stranger?.forge(plantsIn(PLANTS, minute, minutes));
      await after(Math.max(0, end - performance.now()));
      await this.#close(minute, told);
    }
  }

  /** Ends the minute: keeps and tells its figures. */
  async #close(minute: number, killed: string): Promise<void> {
    const { ms: reads, failures } = this.#readers.take();
    this.#judge(`minute ${minute}`, [...failures, ...this.#failures]);
    const hub = this.#system.processes.at('hub-gateway');
    const sockets = await figureOf(hub, 'hub_sockets').catch(() => Number.NaN);
    const figures: readonly Figure[] = [
      { what: 'reads answered', unit: '', value: reads.length },
      { what: 'reads failed around kills', unit: '', value: failures.length },
      ...percentiles('read', reads),
      ...percentiles("node to the hub's subscriber", this.#blockMs),
      { what: 'ride requests not shown within 30 s', unit: '', value: this.#unseen },
      { what: 'sockets open at the hub', unit: '', value: sockets },
      { what: 'deposits credited', unit: '', value: this.#creditMs.length },
      ...percentiles('payment to credit', this.#creditMs),
      { what: 'rebuilds', unit: '', value: this.#rebuildMs.length },
      { what: 'rebuilds failed around kills', unit: '', value: this.#rebuildsFailed },
      ...percentiles('rebuild', this.#rebuildMs),
      {
        what: 'event loop of the readers late, p99',
        unit: 'ms',
        // an idle loop is reported as late as the resolution
        value: this.#loopDelay.percentile(99) / 1e6 - LOOP_RESOLUTION_MS,
      },
    ];
    const memory = [...this.#memory.newest].map(([what, value]) => ({ what, unit: '', value }));
    this.#minutes.push([
      ...figures,
      ...memory.map(({ what, value }) => ({ what: `memory of ${what}`, unit: 'MiB', value })),
    ]);
    [this.#blockMs, this.#creditMs, this.#rebuildMs] = [[], [], []];
    this.#failures = [];
    [this.#unseen, this.#rebuildsFailed] = [0, 0];
    this.#loopDelay.reset();
    this.#system.progress(
      `minute ${minute} of ${this.#options.minutes}: killed ${killed}; ${textOf(figures)}; memory in MiB: ${textOf(memory)}`,
    );
  }

  /** Failures are allowed around a kill of what they needed. */
  #judge(when: string, failures: readonly Failure[]): void {
    const unexcused = failures.filter((failure) => !this.#outages.excuses(failure));
    const told = unexcused.slice(0, TOLD_MAX).map((failure) => `${when}: ${failure.told}`);
    this.#system.violations.push(...told);
    if (unexcused.length > told.length)
      this.#system.violations.push(`${when}: ${unexcused.length - told.length} more failures`);
  }

  /** Everything comes to rest; the claims of the run. */
  async judged(): Promise<FaultReport> {
    const system = this.#system;
    await system.allCredited();
    const reserve = await this.#reserveRuns();
    await comesToRest(system);
    await this.#watched.untilRight(() => this.#answers());
    await this.#watched.close();
    const verdictOfAll = await verdict(system, {
      projections: PROJECTIONS.map(({ name }) => name),
      planted: this.#stranger?.planted ?? [],
      forged: FORGED_DEPOSITS,
      depositors: this.#depositors,
      others: 0,
      counted: [CHAIN_BLOCKS],
    });
    const violations = [
      ...verdictOfAll.violations,
      ...(system.reorganisations === 0 ? ['the chain has not reorganised once'] : []),
      ...this.#watched.wrong.slice(0, TOLD_MAX),
      ...('mismatch' in reserve ? [`${reserve['mismatch']} reserve runs ended with mismatch`] : []),
    ];
    const report = this.#report(violations.length);
    const file = save(report, { ...this.#options, seed: this.#seed }, { script: 'test:faults' });
    return {
      lines: [
        tableOf(report),
        `written to ${file}`,
        ...verdictOfAll.lines,
        `sockets opened again: ${this.#watched.reopened}; ${this.#watched.results} results; reserve runs: ${countsLine(reserve)}; forged records: ${this.#stranger?.planted.length}`,
      ],
      violations: [...violations, ...missedGoals(report)],
    };
  }

  /** Waits for one that begins now and is ok; how many of all ended with each status. */
  async #reserveRuns(): Promise<Readonly<Record<string, number>>> {
    const begun = new Date();
    const newer = "SELECT 1 FROM reserve.runs WHERE begun_at > $1 AND status = 'ok'";
    await until(
      () => this.#system.rows(newer, [begun]),
      'a reserve run at rest that is ok',
      (seen) => seen.length > 0,
    );
    const rows = await this.#system.rows<{ status: string; runs: number }>(
      'SELECT status, count(*)::int AS runs FROM reserve.runs GROUP BY status ORDER BY status',
    );
    return Object.fromEntries(rows.map(({ status, runs }) => [status, runs]));
  }

  #report(violations: number): BenchReport {
    const { detail, ratios } = this.#memory.report(SPARED);
    const { minutes, sockets, reads } = this.#options;
    const byFigure = Map.groupBy(this.#minutes.flat(), ({ what }) => what);
    return {
      bench: 'soak',
      about: `${minutes} minutes with ${sockets} sockets, of which a tenth never read, and ${reads} reads a second from when they were due, while projections are rebuilt one after the other, a stranger writes forged records and a process is killed each minute; a round is a minute that has such a figure`,
      measured: [...byFigure].map(([what, each]) => ({
        what,
        unit: each[0]?.unit ?? '',
        // a minute without any has no percentile
        rounds: each.map(({ value }) => value).filter(Number.isFinite),
      })),
      detail,
      ratios: [...ratios, { what: 'violations', ratio: violations, goal: '<= 0' }],
    };
  }

  async close(): Promise<void> {
    this.#over.abort();
    this.#mute.close();
    await this.#watchers?.close();
    await this.#stranger?.close();
  }

  /** Kills it and starts it again, and waits until all has come right. */
  async #strike(victim: string): Promise<string> {
    const system = this.#system;
    const back = this.#outages.begin(victim);
    const started = await kill(system, victim);
    back();
    const { made } = system.payments;
    await system.shown(victim);
    await this.#watched.untilCurrent(() => this.#answers());
    const shown = system.recovered(SHOWN, victim, started);
    await until(
      () => this.#credited,
      `${made} deposits to be credited, after ${victim}`,
      (seen) => seen >= made,
    );
    const credited = system.recovered(CREDITED, victim, started);
    system.note(victim);
    return `${victim}, tables and sockets right ${shown} ms after its restart, payments made before credited after ${credited} ms`;
  }

  get #watched(): Watchers {
    if (this.#watchers === undefined) throw new Error('no socket is open yet');
    return this.#watchers;
  }

  get #hubUrl(): string {
    return this.#system.urlOf('hub-gateway');
  }

  #answers(): ReturnType<typeof answersOf> {
    const token = goodToken({ pk: `0x${'aa'.repeat(20)}`, exp: 2 ** 40 }, SECRET);
    return answersOf(this.#hubUrl, this.#watched.lists, token);
  }

  /** At even times, until the run is over. */
  async #every(ms: number, act: () => Promise<void> | void): Promise<void> {
    for (let due = performance.now(); !this.#over.signal.aborted; due += ms) {
      await after(Math.max(0, due - performance.now()));
      await act();
    }
  }

  async #births(): Promise<void> {
    const { place, node } = this.#system;
    const { height } = (await node.chain()).head;
    for await (const { born, json } of birthsFrom(place.addresses.node_url, height + 1)) {
      if (this.#over.signal.aborted) return;
      const request = requestIn(json);
      if (request !== undefined && born !== undefined) this.#born.push({ request, at: born });
    }
  }

  #heard(payload: string): void {
    const now = performance.now();
    this.#born = this.#born.filter(({ request, at }) => {
      if (payload.includes(request)) this.#blockMs.push(now - at);
      // no limit: counts those of a figure
      else if (now - at < UNSEEN_AFTER_MS) return true;
      else this.#unseen++;
      return false;
    });
  }

  async #pay(): Promise<void> {
    const to = this.#depositors.addresses.get(this.#others.below(ACCOUNTS)) ?? '';
    const value = BigInt(3 * USD + this.#others.below(20 * USD));
    await this.#system.payments.pay([{ to, value }]);
    this.#uncredited.push(performance.now());
  }

  /** Which payments are credited, as the treasury says; it counts anew after a start. */
  async #follow(): Promise<void> {
    const treasury = this.#system.processes.at('treasury');
    const told = await figureOf(treasury, 'treasury_mints_total', 'MintCredited').catch(() => 0);
    const now = performance.now();
    for (; this.#credited < told; this.#credited++)
      this.#creditMs.push(now - (this.#uncredited.shift() ?? Number.NaN));
  }

  #noteFailure(needs: readonly string[], told: string, begun = performance.now()): void {
    this.#failures.push({ needs, begun, ended: performance.now(), told });
  }

  async #renewMute(): Promise<void> {
    const begun = performance.now();
    const opened = await this.#mute.renew(this.#hubUrl, this.#watched.lists);
    if (opened < this.#mute.count)
      this.#noteFailure(
        ['hub-gateway', 'postgres'],
        `${opened} of ${this.#mute.count} sockets that do not read were opened`,
        begun,
      );
  }

  /** One projection after the other. */
  async #rebuild(): Promise<void> {
    for (let at = 0; !this.#over.signal.aborted; at++) {
      const name = PROJECTIONS[at % PROJECTIONS.length]?.name ?? '';
      const begun = performance.now();
      const { code, stdout, stderr } = await runOps(this.#system.place.addresses, [
        'rebuild',
        name,
      ]);
      const ended = performance.now();
      if (code === 0) this.#rebuildMs.push(ended - begun);
      else {
        this.#rebuildsFailed++;
        const needs = ['postgres', 'kafka', `projector-${name.replaceAll('_', '-')}`];
        this.#noteFailure(needs, `rebuild ${name} ended with ${code}: ${stdout}${stderr}`, begun);
      }
      await after(REBUILD_PAUSE_MS, undefined, { signal: this.#over.signal }).catch(
        () => undefined,
      );
    }
  }
}
