/**
 * The fault run of the hub: many subscriptions on a chain that grows and reorganises, while Redis,
 * Postgres and the projectors are killed. Soon after the return of Redis, while the chain goes on,
 * every subscription must show a result that the same query has given since, and notifications must
 * be heard again. After each kill, once all is back and the chain stands still, every subscription
 * must show the result of the same query. While only Redis is away, queries must not be affected.
 */
import { setTimeout as after } from 'node:timers/promises';
import { Pool } from 'pg';
import { defaultSettings } from '../../infra/services/settings.ts';
import { ChainNode } from '../../services/runtime/clt-node.ts';
import { messageOf } from '../../services/runtime/process/errors.ts';
import { Deck, Random } from '../support/random.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { until } from '../support/until.ts';
import { countsLine, spread, type FaultReport, type FaultRun, type Given } from './fault-run.ts';
import { answersOf, someRider, watchedLists, Watchers, type WatchedList } from './hub-watchers.ts';
import { figureOf, Processes } from './processes.ts';
import { goodToken } from '../support/tokens.ts';
import { HANG_MS } from '../support/limits.ts';

const SERVICES = [
  'devnet',
  'chain-ingester',
  'projector-explorer',
  'projector-ride-market',
  'hub-gateway',
];
const SETTINGS = {
  devnet: { APP_BLOCK_INTERVAL_MS: '200', APP_TRAFFIC_PER_SECOND: '20', APP_FINALITY_DEPTH: '8' },
  'hub-gateway': { APP_RATE_PER_SECOND: '0' },
};
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
const ASK_EVERY_MS = 25;
/** From the return of Redis, while the chain goes on. */
const REDIS_GOAL_MS = 2_000;

export const hub: FaultRun<'rounds' | 'sockets'> = {
  about:
    'kills Redis, Postgres and projectors under open subscriptions and reorganises the chain; then every subscription\n' +
    'must show what the query of the same list answers, and without Redis alone queries must not notice',
  options: {
    rounds: { about: 'how many times something is killed', default: 12 },
    sockets: { about: 'open all the time, each with one subscription', default: 200 },
  },
  async run({ rounds, sockets }, given) {
    const stack = await startStack();
    const processes = new Processes(stack, SETTINGS);
    try {
      for (const name of SERVICES) await (await processes.start(name)).ready();
      return await processes.whileAllRun(new HubRun(stack, processes, given).run(rounds, sockets));
    } catch (cause) {
      throw new Error(`${messageOf(cause)}\n${processes.lastLines()}`, { cause });
    } finally {
      await stack.stop();
    }
  },
};

class HubRun {
  readonly #stack: Stack;
  readonly #processes: Processes;
  readonly #random: Random;
  readonly #progress: Given['progress'];
  readonly #violations: string[] = [];
  readonly #counts: Record<string, number> = {};
  /** ms from Redis' return until the last socket was right, while the chain went on */
  readonly #redisBack: number[] = [];
  /** ms of queries, while Redis was away and otherwise */
  readonly #asked = { away: [] as number[], otherwise: [] as number[] };
  #reorganisations = 0;
  #without: Blow | undefined;

  constructor(stack: Stack, processes: Processes, { seed, progress }: Given) {
    this.#stack = stack;
    this.#processes = processes;
    this.#random = new Random(seed);
    this.#progress = progress;
  }

  async run(rounds: number, sockets: number): Promise<FaultReport> {
    const { url } = this.#processes.at('hub-gateway');
    const token = goodToken(
      { pk: `0x${'aa'.repeat(20)}`, exp: Math.floor(Date.now() / 1_000) + 86_400 },
      defaultSettings.APP_JWT_SECRET,
    );
    const node = new ChainNode(this.#stack.addresses.node_url, new AbortController().signal);
    const lists = watchedLists(await someRider(node));
    await this.#blocks(5);
    const watchers = await Watchers.open(url, sockets, lists);
    const pool = new Pool({ connectionString: this.#stack.addresses.postgres_url, max: 1 });
    pool.on('error', () => undefined);
    const stop = new AbortController();
    const asking = this.#ask(url, lists, stop.signal);
    const blows = new Deck<Blow>(BLOWS, this.#random);
    try {
      for (let round = 1; round <= rounds; round++) {
        await this.#blocks(2 + this.#random.below(6));
        const blow = blows.draw();
        this.#counts[blow] = (this.#counts[blow] ?? 0) + 1;
        const answers = (): ReturnType<typeof answersOf> => answersOf(url, lists, token);
        const back = await this.#strike(blow);
        if (blow === 'redis') await this.#untilCurrent(answers, watchers, back);
        await this.#admin('/clt/auto', { enabled: false });
        await this.#rest(pool);
        await this.#untilRight(answers, watchers);
        const ms = Math.round(performance.now() - back);
        this.#progress(
          `round ${round} of ${rounds}: ${blow}, every socket right ${blow === 'redis' ? this.#redisBack.at(-1) : ms} ms after its return`,
        );
        await this.#admin('/clt/auto', { enabled: true });
      }
    } finally {
      stop.abort();
      await asking;
      await watchers.close();
      await pool.end();
    }
    this.#violations.push(...watchers.wrong.slice(0, 10));
    return { lines: this.#lines(sockets, watchers.results), violations: this.#violations };
  }

  /** Kills the process while the chain moves and restarts it; returns when it was back. */
  async #strike(blow: Blow): Promise<number> {
    const isServer = blow === 'redis' || blow === 'postgres';
    this.#without = blow;
    if (isServer) await this.#stack.servers[blow].kill('SIGKILL');
    else await this.#processes.at(blow).kill('SIGSTOP');
    if (blow === 'postgres') await this.#stack.servers.postgres.start();
    await this.#blocks(1 + this.#random.below(8));
    if (
      this.#random.chance(0.5) &&
      (await this.#admin('/clt/reorg', { depth: 1 + this.#random.below(5) }))
    )
      this.#reorganisations++;
    if (blow === 'redis') await this.#stack.servers.redis.start();
    else if (!isServer) await this.#processes.kill(blow);
    this.#without = undefined;
    return performance.now();
  }

  /** The chain stands still: until all tables are where the node is. */
  async #rest(pool: Pool): Promise<void> {
    const { head } = await new ChainNode(
      this.#stack.addresses.node_url,
      new AbortController().signal,
    ).chain();
    await until(async () => {
      const { rows } = await pool.query<{ hash: Buffer }>(
        'SELECT hash FROM explorer.head UNION ALL SELECT hash FROM ride_market.head',
      );
      return rows.length === 2 && rows.every(({ hash }) => hash.equals(head.hash));
    }, `both read models at block ${head.height}`);
  }

  /**
   * The chain goes on: until each socket shows what its query has answered since, and the hub hears
   * notifications.
   */
  async #untilCurrent(
    answers: () => ReturnType<typeof answersOf>,
    watchers: Watchers,
    since: number,
  ): Promise<void> {
    const gateway = this.#processes.at('hub-gateway');
    const heard = await figureOf(gateway, 'hub_notifications_total');
    await watchers.untilCurrent(answers);
    const ms = Math.round(performance.now() - since);
    this.#redisBack.push(ms);
    await until(
      () => figureOf(gateway, 'hub_notifications_total'),
      'the hub to hear notifications again',
      (seen) => seen > heard,
    );
  }

  async #untilRight(
    answers: () => ReturnType<typeof answersOf>,
    watchers: Watchers,
  ): Promise<void> {
    let others = -1;
    try {
      await until(async () => {
        const right = await answers();
        others =
          right === undefined
            ? -1
            : watchers.others((list, payload) => right.get(list) === payload);
        return others === 0;
      }, 'every socket to show what the query answers');
    } catch {
      this.#violations.push(
        `${others} sockets show something else than the query answers, ${HANG_MS} ms after all was back`,
      );
    }
  }

  /** Somebody who asks without a token at even times, also while earlier answers are due. */
  async #ask(url: string, lists: readonly WatchedList[], signal: AbortSignal): Promise<void> {
    const open = lists.filter(({ query }) => !query.includes('accountBalance'));
    const asking = new Set<Promise<void>>();
    for (let due = performance.now(); !signal.aborted; due += ASK_EVERY_MS) {
      await after(Math.max(0, due - performance.now()));
      const asked = this.#askOnce(url, this.#random.pick(open).query, due).catch(
        (error: unknown) => void this.#violations.push(`a query failed: ${String(error)}`),
      );
      asking.add(asked);
      void asked.finally(() => asking.delete(asked));
    }
    await Promise.all(asking);
  }

  /** Its time counts from when it was due. */
  async #askOnce(url: string, query: string, due: number): Promise<void> {
    const without = this.#without;
    const response = await fetch(`${url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query }),
    });
    const text = await response.text();
    const isRight = response.status === 200 && !text.includes('"errors"');
    if (!isRight && without === 'redis' && this.#without === 'redis')
      this.#violations.push(
        `without Redis a query was answered ${response.status}: ${text.slice(0, 200)}`,
      );
    (without === 'redis' ? this.#asked.away : this.#asked.otherwise).push(performance.now() - due);
  }

  async #blocks(more: number): Promise<void> {
    const node = new ChainNode(this.#stack.addresses.node_url, new AbortController().signal);
    const { height } = (await node.chain()).head;
    await until(
      async () => (await node.chain()).head.height >= height + more,
      `${more} more blocks`,
    );
  }

  async #admin(path: string, body: object): Promise<boolean> {
    const headers = { 'content-type': 'application/json' };
    const url = `http://127.0.0.1:${this.#stack.ports.devnet}/admin${path}`;
    const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
    await response.arrayBuffer();
    return response.ok;
  }

  #lines(sockets: number, results: number): readonly string[] {
    return [
      `killed: ${countsLine(this.#counts)}; reorganisations: ${this.#reorganisations}; ${sockets} sockets, ${results} results`,
      `from Redis' return until every socket was right: ${spread(this.#redisBack)} (goal ${REDIS_GOAL_MS} ms)`,
      `queries while Redis was away: ${this.#asked.away.length}, ${spread(this.#asked.away)}; otherwise: ${this.#asked.otherwise.length}, ${spread(this.#asked.otherwise)}`,
    ];
  }
}
