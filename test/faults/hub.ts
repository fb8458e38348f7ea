/**
 * The fault run of the hub: many subscriptions on a chain that grows and reorganises, while Redis,
 * Postgres and the projectors are killed. After each kill, once all is back and the chain stands
 * still, every subscription must show the result of the same query. While only Redis is away,
 * queries must not be affected.
 */
import { setTimeout as after } from 'node:timers/promises';
import { Pool } from 'pg';
import { defaultSettings } from '../../infra/services/settings.ts';
import { ChainNode } from '../../services/runtime/clt-node.ts';
import { messageOf } from '../../services/runtime/process/errors.ts';
import { Random } from '../support/random.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { until } from '../support/until.ts';
import { countsLine, type FaultReport, type FaultRun, type Given } from './fault-run.ts';
import { answersOf, watchedLists, Watchers, type WatchedList } from './hub-watchers.ts';
import { Processes } from './processes.ts';
import { goodToken } from '../support/tokens.ts';

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
const RIGHT_WITHIN_MS = 60_000;

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
  /** ms from Redis' return until the last socket was right */
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
    const lists = watchedLists(await this.#someone());
    await this.#blocks(5);
    const watchers = await Watchers.open(url, sockets, lists);
    const pool = new Pool({ connectionString: this.#stack.addresses.postgres_url, max: 1 });
    pool.on('error', () => undefined);
    const stop = new AbortController();
    const asking = this.#ask(url, lists, stop.signal);
    let deck: Blow[] = [];
    try {
      for (let round = 1; round <= rounds; round++) {
        await this.#blocks(2 + this.#random.below(6));
        if (deck.length === 0) deck = [...BLOWS];
        const [blow = 'redis'] = deck.splice(this.#random.below(deck.length), 1);
        this.#counts[blow] = (this.#counts[blow] ?? 0) + 1;
        const back = await this.#strike(blow);
        await this.#rest(pool);
        const ms = await this.#untilRight(url, lists, token, watchers, back);
        if (blow === 'redis') this.#redisBack.push(ms);
        this.#progress(
          `round ${round} of ${rounds}: ${blow}, every socket right ${ms} ms after its return`,
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

  /**
   * Kills the process while the chain moves, stops the chain and restarts the process; returns when
   * it was back.
   */
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
    await this.#admin('/clt/auto', { enabled: false });
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

  async #untilRight(
    url: string,
    lists: readonly WatchedList[],
    token: string,
    watchers: Watchers,
    since: number,
  ): Promise<number> {
    let others = -1;
    try {
      await until(
        async () => {
          const right = await answersOf(url, lists, token);
          others = right === undefined ? -1 : watchers.others(right);
          return others === 0;
        },
        'every socket to show what the query answers',
        RIGHT_WITHIN_MS,
      );
    } catch {
      this.#violations.push(
        `${others} sockets show something else than the query answers, ${RIGHT_WITHIN_MS} ms after all was back`,
      );
    }
    return Math.round(performance.now() - since);
  }

  /** Somebody who asks all the time, without a token. */
  async #ask(url: string, lists: readonly WatchedList[], signal: AbortSignal): Promise<void> {
    const open = lists.filter(({ query }) => !query.includes('accountBalance'));
    while (!signal.aborted) {
      const { query } = this.#random.pick(open);
      const [begun, without] = [performance.now(), this.#without];
      const headers = { 'content-type': 'application/json' };
      const response = await fetch(`${url}/graphql`, {
        method: 'POST',
        headers,
        body: JSON.stringify({ query }),
      });
      const text = await response.text();
      const isRight = response.status === 200 && !text.includes('"errors"');
      if (!isRight && without === 'redis' && this.#without === 'redis')
        this.#violations.push(
          `without Redis a query was answered ${response.status}: ${text.slice(0, 200)}`,
        );
      (without === 'redis' ? this.#asked.away : this.#asked.otherwise).push(
        performance.now() - begun,
      );
      await after(ASK_EVERY_MS);
    }
  }

  /** An account of the chain that acts now and then. */
  async #someone(): Promise<string> {
    const node = new ChainNode(this.#stack.addresses.node_url, new AbortController().signal);
    let found = '';
    await until(async () => {
      const { blocks } = await node.blocks(0, 500);
      const transaction = blocks
        .flatMap(({ transactions }) => transactions)
        .find(({ function_call_type: type }) => type === 'RideRequest');
      found = transaction === undefined ? '' : `0x${transaction.from.toString('hex')}`;
      return found !== '';
    }, 'a first ride request');
    return found;
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
      `from Redis' return until every socket was right: ${spread(this.#redisBack)} (goal 2,000 ms)`,
      `queries while Redis was away: ${this.#asked.away.length}, ${spread(this.#asked.away)}; otherwise: ${this.#asked.otherwise.length}, ${spread(this.#asked.otherwise)}`,
    ];
  }
}

function spread(ms: readonly number[]): string {
  const sorted = ms.toSorted((a, b) => a - b);
  const at = (share: number): string =>
    (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0).toFixed(0);
  return `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, most ${at(1)} ms`;
}
