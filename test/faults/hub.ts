/**
 * The fault run of the hub: many subscriptions on a chain that grows and reorganises, while Redis,
 * Postgres and the projectors are killed. Soon after the return of Redis, while the chain goes on,
 * every subscription must show a result that the same query has given since, and notifications must
 * be heard again. After each kill, once all is back and the chain stands still, every subscription
 * must show the result of the same query. Only while Postgres is away may queries fail.
 */
import { defaultSettings } from '../../infra/services/settings.ts';
import { Deck } from '../support/random.ts';
import { goodToken } from '../support/tokens.ts';
import { until } from '../support/until.ts';
import { kill } from './blows.ts';
import { spread, type FaultRun } from './fault-run.ts';
import { answersOf, someRider, watchedLists, Watchers } from './hub-watchers.ts';
import { Outages, type Failure } from './outages.ts';
import { figureOf } from './processes.ts';
import { question, Readers } from './readers.ts';
import { onStack, type StackPlace, type System } from './system.ts';
import { comesToRest, standsStill, verdict, type SystemReport } from './verdict.ts';

const SETTINGS = {
  devnet: { APP_BLOCK_INTERVAL_MS: '200', APP_TRAFFIC_PER_SECOND: '20', APP_FINALITY_DEPTH: '8' },
  'hub-gateway': { APP_RATE_PER_SECOND: '0' },
};
const SERVICES = ['chain-ingester', 'projector-explorer', 'projector-ride-market', 'hub-gateway'];
const SCHEMAS = ['explorer', 'ride_market'] as const;
/** Each comes once before any comes again. */
const BLOWS = [
  'redis',
  'projector-ride-market',
  'redis',
  'postgres',
  'redis',
  'projector-explorer',
] as const;
type Blow = (typeof BLOWS)[number];
const READS_PER_SECOND = 40;
const DEPTH_MAX = 5;
const MEASURED = 'from its return until every socket is right';

export const hub: FaultRun<'rounds' | 'sockets', SystemReport> = {
  about:
    'kills Redis, Postgres and projectors under open subscriptions and reorganises the chain; then every subscription\n' +
    'must show what the query of the same list answers, and without Redis alone queries must not notice',
  options: {
    rounds: { about: 'how many times something is killed', default: 12 },
    sockets: { about: 'open all the time, each with one subscription', default: 200 },
  },
  run: ({ rounds, sockets }, given) =>
    onStack(SETTINGS, given, async (system) => {
      await system.start(SERVICES);
      await system.ready(SERVICES);
      return await new HubRun(system).run(rounds, sockets);
    }),
};

class HubRun {
  readonly #system: System<StackPlace>;
  readonly #outages = new Outages();
  /** ms of queries, while Redis was away and otherwise */
  readonly #asked = { away: [] as number[], otherwise: [] as number[] };
  readonly #failures: Failure[] = [];

  constructor(system: System<StackPlace>) {
    this.#system = system;
  }

  async run(rounds: number, sockets: number): Promise<SystemReport> {
    const system = this.#system;
    const url = system.urlOf('hub-gateway');
    const exp = Math.floor(Date.now() / 1_000) + 86_400;
    const token = goodToken({ pk: `0x${'aa'.repeat(20)}`, exp }, defaultSettings.APP_JWT_SECRET);
    const lists = watchedLists(await someRider(system.node));
    const answers = (): ReturnType<typeof answersOf> => answersOf(url, lists, token);
    const watchers = await Watchers.open(url, sockets, lists);
    const open = lists.filter(({ query }) => !query.includes('accountBalance'));
    const questions = open.map(({ query }) => question(query));
    const readers = new Readers((name) => system.urlOf(name), system.random, questions);
    const over = new AbortController();
    const reading = readers.run(READS_PER_SECOND, over.signal);
    const blows = new Deck<Blow>(BLOWS, system.random);
    try {
      for (let round = 1; round <= rounds; round++) {
        await system.blocks(2 + system.random.below(6));
        const blow = blows.draw();
        this.#take(readers, 'otherwise');
        const back = await this.#strike(blow);
        this.#take(readers, blow === 'redis' ? 'away' : 'otherwise');
        if (blow === 'redis') {
          const heard = await this.#heard();
          await watchers.untilCurrent(answers);
          system.recovered(MEASURED, blow, back);
          await until(
            () => this.#heard(),
            'the hub to hear notifications again',
            (seen) => seen > heard,
          );
        }
        await standsStill(system, SCHEMAS);
        await watchers.untilRight(answers);
        if (blow !== 'redis') system.recovered(MEASURED, blow, back);
        system.progress(
          `round ${round} of ${rounds}: ${blow}, every socket right ${system.newest(MEASURED)?.ms} ms after its return`,
        );
        await system.admin('/clt/auto', { enabled: true });
      }
    } finally {
      over.abort();
      await reading;
      await watchers.close();
    }
    this.#take(readers, 'otherwise');
    await comesToRest(system, SCHEMAS);
    const report = await verdict(system, { projections: SCHEMAS });
    const { away, otherwise } = this.#asked;
    return {
      ...report,
      lines: [
        ...report.lines,
        `${sockets} sockets, ${watchers.results} results`,
        `queries while Redis was away: ${away.length}, ${spread(away)}; otherwise: ${otherwise.length}, ${spread(otherwise)}`,
      ],
      violations: [
        ...report.violations,
        ...this.#failures.filter((each) => !this.#outages.excuses(each)).map(({ told }) => told),
        ...watchers.wrong.slice(0, 10),
      ],
    };
  }

  #take(readers: Readers, when: 'away' | 'otherwise'): void {
    const { ms, failures } = readers.take();
    this.#asked[when].push(...ms);
    this.#failures.push(...failures);
  }

  /** Takes it away while the chain moves; gives the time of its return (`performance.now()`). */
  async #strike(blow: Blow): Promise<number> {
    const system = this.#system;
    const { random, processes } = system;
    const moves = async (): Promise<void> => {
      await system.blocks(1 + random.below(8));
      if (random.chance(0.5)) await system.reorganise(DEPTH_MAX);
    };
    system.note(blow);
    const back = this.#outages.begin(blow);
    // a frozen projector holds its session until it is killed
    if (blow.startsWith('projector')) {
      await processes.freeze(blow);
      await moves();
      await processes.kill(blow);
    } else await kill(system, blow, moves);
    back();
    return performance.now();
  }

  #heard(): Promise<number> {
    return figureOf(this.#system.processes.at('hub-gateway'), 'hub_notifications_total');
  }
}
