/**
 * The fault run of the chain: all processes are killed at random moments under load, and restarted
 * at once, as by a supervisor. After each kill the explorer, the ride market and the series must
 * show a block that was born after the restarted process was ready.
 */
import { CHAIN_BLOCKS } from '../../schemas/topics.ts';
import { HANG_MS } from '../support/limits.ts';
import { until } from '../support/until.ts';
import { Blows, type Blow } from './blows.ts';
import type { FaultRun } from './fault-run.ts';
import { onStack, type StackPlace, type System } from './system.ts';
import { comesToRest, verdict, type SystemReport } from './verdict.ts';

const SETTINGS = {
  devnet: {
    APP_BLOCK_INTERVAL_MS: '150',
    APP_TRAFFIC_PER_SECOND: '20',
    APP_FINALITY_DEPTH: '8',
  },
  'explorer-gateway': { APP_RATE_PER_SECOND: '0' },
};
/** Two projectors from the beginning: one works, the other is there to collide. */
const PROJECTORS = ['projector-explorer', 'projector-explorer/2'];
const SERVICES = [
  'chain-ingester',
  ...PROJECTORS,
  'projector-ride-market',
  'projector-series',
  'explorer-gateway',
];
/** The explorer's projectors are two, and come twice. */
export const BLOWS: readonly Blow[] = [
  ...['chain-ingester', 'projector-ride-market', 'projector-series'].map((name) => [name]),
  PROJECTORS,
  PROJECTORS,
  ...['explorer-gateway', 'kafka', 'postgres'].map((name) => [name]),
].map((slots) => ({ slots, hows: ['killed'] }));
const REORGANISE_EVERY = 4;
const DEPTH_MAX = 6;
/** 0: nobody listened. 503: not now. */
const EXPECTED: ReadonlySet<string> = new Set(['0', '200', '503']);
const MEASURED =
  'from a restart until a block is shown that was born after the restarted process was ready';

export const explorer: FaultRun<'kills', SystemReport> = {
  about:
    'kills ingester, projectors, gateway, Kafka and Postgres at random (SIGKILL) and reorganises the chain now and then;\n' +
    'then the tables of the explorer, the ride market and the series have to be those of the log, and the accounts those of the node',
  options: { kills: { about: 'how many kills', default: 100 } },
  run: ({ kills }, given) =>
    onStack(SETTINGS, given, async (system) => {
      const reader = new Reader(system);
      const blows = new Blows(system, BLOWS);
      await system.start(SERVICES);
      await reader.shown('the start');
      for (let kill = 1; kill <= kills; kill++) {
        await reader.moment();
        if (kill % REORGANISE_EVERY === 0) await system.reorganise(DEPTH_MAX);
        const { what, since } = await blows.strike(() => reader.moment());
        await reader.shown(what);
        const ms = system.recovered(MEASURED, what, since);
        system.progress(`kill ${kill} of ${kills}: ${what}; a newer block after ${ms} ms`);
      }
      await comesToRest(system);
      const report = await verdict(system, {
        projections: ['explorer', 'ride_market', 'series'],
        counted: [CHAIN_BLOCKS],
      });
      const { answers } = reader;
      return {
        ...report,
        lines: [
          ...report.lines,
          `reader's answers by status (0: nobody listened): ${JSON.stringify(answers)}`,
        ],
        violations: [
          ...report.violations,
          ...Object.keys(answers)
            .filter((status) => !EXPECTED.has(status))
            .map((status) => `the explorer answered ${status} to ${answers[status]} requests`),
        ],
      };
    }),
};

/** Somebody who walks the lists of the explorer. */
class Reader {
  /** by status, 0 where nobody listened */
  readonly answers: Record<string, number> = {};
  readonly #system: System<StackPlace>;

  constructor(system: System<StackPlace>) {
    this.#system = system;
  }

  /** Waits for a moment that nobody chose: so many requests. */
  async moment(): Promise<void> {
    const { random } = this.#system;
    for (let requests = 1 + random.below(60); requests > 0; requests--) {
      const path = random.pick([
        'stats',
        'blocks?limit=5',
        `transactions?limit=20&offset=${random.below(300)}`,
        'transactions?type=RideRequest',
      ]);
      const status = await this.#ask(path).then(
        (response) => response.status,
        () => 0,
      );
      this.answers[status] = (this.answers[status] ?? 0) + 1;
    }
  }

  /** Resolves when the gateway and all tables show a block that is not made yet. */
  async shown(after: string): Promise<void> {
    const { height } = (await this.#system.node.chain()).head;
    await this.#system.shown(after);
    await until(
      async () => Number(Object(await (await this.#ask('stats')).json()).latest_height),
      `a block above ${height} at the explorer, after ${after}`,
      (seen) => seen > height,
    );
  }

  #ask(path: string): Promise<Response> {
    const url = `${this.#system.urlOf('explorer-gateway')}/api/v1/${path}`;
    return fetch(url, { signal: AbortSignal.timeout(HANG_MS) });
  }
}
