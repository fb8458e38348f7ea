/**
 * The fault run of the chain: all processes are killed at random moments under load, and restarted
 * at once, as by a supervisor. After each kill the explorer, the ride market and the series must
 * show a block that was born after the restarted process was ready. At the end a plain fold of the
 * log is compared with the node and the tables.
 */
import { Pool } from 'pg';
import { CHAIN_BLOCKS } from '../../schemas/topics.ts';
import { ChainNode } from '../../services/runtime/clt-node.ts';
import { messageOf } from '../../services/runtime/process/errors.ts';
import { openKafka } from '../../services/runtime/kafka/client.ts';
import { openLog } from '../../services/runtime/process/log.ts';
import { Deck, Random } from '../support/random.ts';
import { until } from '../support/until.ts';
import { startStack, type ServiceHandle, type Stack } from '../support/stack.ts';
import { judgeChain, type ChainVerdict } from './chain-verdict.ts';
import type { Recovery } from './fault-run.ts';
import { heightIn } from './head-height.ts';
import { openCodec } from '../support/codec.ts';
import { HANG_MS } from '../support/limits.ts';

export interface FaultRunOptions {
  readonly kills: number;
  readonly seed: number;
  /** one line a kill */
  readonly progress: (line: string) => void;
}

export interface FaultRunReport extends ChainVerdict {
  readonly kills: Readonly<Record<string, number>>;
  readonly reorganisations: number;
  /**
   * from each restart until explorer, ride market and series showed a block that was born after the
   * restarted process was ready
   */
  readonly recoveries: readonly Recovery[];
  /** the reader's answers by status, 0 where nobody listened */
  readonly answers: Readonly<Record<string, number>>;
}

type Victim =
  | 'chain-ingester'
  | 'projector-explorer'
  | 'projector-ride-market'
  | 'projector-series'
  | 'explorer-gateway'
  | 'kafka'
  | 'postgres';
/** Each is killed once before any is killed again. */
const VICTIMS: readonly Victim[] = [
  'chain-ingester',
  'projector-explorer',
  'projector-explorer',
  'projector-ride-market',
  'projector-series',
  'explorer-gateway',
  'kafka',
  'postgres',
];
/** The schemas whose tables nothing shows here, by the projector that writes them. */
const HELD = { 'projector-ride-market': 'ride_market', 'projector-series': 'series' } as const;
const REORG_EVERY = 4;
/** 0: nobody listened. 503: not now. */
const EXPECTED: ReadonlySet<string> = new Set(['0', '200', '503']);
const LAST_LINES = 8;
const DEVNET = {
  APP_BLOCK_INTERVAL_MS: '150',
  APP_TRAFFIC_PER_SECOND: '20',
  APP_FINALITY_DEPTH: '8',
};

class Run {
  readonly #stack: Stack;
  readonly #random: Random;
  readonly #victims: Deck<Victim>;
  readonly services = new Map<string, ServiceHandle>();
  readonly answers: Record<string, number> = {};

  constructor(stack: Stack, seed: number) {
    this.#stack = stack;
    this.#random = new Random(seed);
    this.#victims = new Deck(VICTIMS, this.#random);
  }

  get stack(): Stack {
    return this.#stack;
  }

  async start(): Promise<void> {
    const devnet = await this.#spawn('devnet', 'devnet', DEVNET);
    await devnet.ready();
    // two projectors from the beginning: one works, the other is there to collide
    await this.#spawn('chain-ingester', 'chain-ingester');
    await this.#spawn('projector-explorer', 'projector-explorer');
    await this.#spawn('projector-explorer/2', 'projector-explorer');
    for (const name of Object.keys(HELD)) await this.#spawn(name, name);
    await this.#spawn('explorer-gateway', 'explorer-gateway', { APP_RATE_PER_SECOND: '0' });
    await this.shown(5);
  }

  /** Resolves when the explorer, the ride market and the series show a block above this height. */
  async shown(height: number): Promise<void> {
    const heights = (): Promise<readonly number[]> =>
      Promise.all([
        this.#height(),
        ...Object.values(HELD).map((schema) => this.#heldHeight(schema)),
      ]);
    await until(
      () => heights(),
      `a block above ${height} at the explorer, in the ride market and the series`,
      (seen) => Math.min(...seen) > height,
    );
  }

  async #spawn(
    slot: string,
    name: string,
    extra: Record<string, string> = {},
  ): Promise<ServiceHandle> {
    const service = await this.#stack.spawnService(name, extra);
    this.services.set(slot, service);
    return service;
  }

  /**
   * Kills one thing at random with SIGKILL and starts it again; resolves when it is ready, with the
   * time of its start (`performance.now()`).
   */
  async kill(): Promise<{ readonly victim: Victim; readonly started: number }> {
    const victim = this.#victims.draw();
    if (victim === 'kafka' || victim === 'postgres') {
      const server = this.#stack.servers[victim];
      await server.kill('SIGKILL');
      const started = performance.now();
      await server.start();
      return { victim, started };
    }
    const slots = [...this.services.keys()].filter(
      (slot) => slot === victim || slot.startsWith(`${victim}/`),
    );
    const slot = this.#random.pick(slots);
    await this.services.get(slot)?.kill('SIGKILL');
    const started = performance.now();
    const service = await this.#spawn(
      slot,
      victim,
      victim === 'explorer-gateway' ? { APP_RATE_PER_SECOND: '0' } : {},
    );
    await service.ready();
    return { victim, started };
  }

  /** Waits for a moment that nobody chose: so many requests of the reader. */
  async moment(): Promise<void> {
    const requests = 1 + this.#random.below(60);
    for (let asked = 0; asked < requests; asked++) await this.read();
  }

  /** One request of a reader that walks the lists. */
  async read(): Promise<void> {
    const paths = [
      '/api/v1/stats',
      '/api/v1/blocks?limit=5',
      `/api/v1/transactions?limit=20&offset=${this.#random.below(300)}`,
      '/api/v1/transactions?type=RideRequest',
    ];
    const status = await this.#ask(this.#random.pick(paths)).then(
      (response) => response.status,
      () => 0,
    );
    this.answers[status] = (this.answers[status] ?? 0) + 1;
  }

  /** Height that the explorer shows; -1 while it does not answer. */
  async #height(): Promise<number> {
    const response = await this.#ask('/api/v1/stats').catch(() => undefined);
    if (response?.status !== 200) return -1;
    const stats: unknown = await response.json();
    if (typeof stats !== 'object' || stats === null || !('latest_height' in stats))
      throw new Error('the explorer answers no stats');
    return Number(stats.latest_height);
  }

  /** Newest height in the tables of this schema; -1 while they are unreadable. */
  async #heldHeight(schema: 'ride_market' | 'series'): Promise<number> {
    return (await heightIn(this.#stack.addresses.postgres_url, schema)) ?? -1;
  }

  /** The node's newest block has it. */
  async nodeHeight(): Promise<number> {
    const node = new ChainNode(this.#stack.addresses.node_url, new AbortController().signal);
    return (await node.chain()).head.height;
  }

  #ask(path: string): Promise<Response> {
    const gateway = this.services.get('explorer-gateway');
    return fetch(`${gateway?.url}${path}`, { signal: AbortSignal.timeout(HANG_MS) });
  }

  async admin(path: string, body: unknown): Promise<Response> {
    const response = await fetch(`http://127.0.0.1:${this.#stack.ports.devnet}/admin${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    await response.arrayBuffer();
    return response;
  }

  lastLines(): string {
    return [...this.services]
      .map(
        ([slot, service]) => `${slot}:\n${service.log().split('\n').slice(-LAST_LINES).join('\n')}`,
      )
      .join('\n');
  }

  async reorganise(): Promise<boolean> {
    return (await this.admin('/clt/reorg', { depth: 1 + this.#random.below(6) })).ok;
  }
}

/**
 * Runs on a stack of its own. Throws, with the last lines of every service, when something does not
 * come back at all.
 */
export async function faultRun({
  kills,
  seed,
  progress,
}: FaultRunOptions): Promise<FaultRunReport> {
  const stack = await startStack();
  const run = new Run(stack, seed);
  try {
    await run.start();
    const counts: Record<string, number> = {};
    const recoveries: Recovery[] = [];
    let reorganisations = 0;
    for (let kill = 1; kill <= kills; kill++) {
      await run.moment();
      if (kill % REORG_EVERY === 0 && (await run.reorganise())) reorganisations++;
      const { victim, started } = await run.kill();
      const height = await run.nodeHeight();
      await run.shown(height);
      const ms = Math.round(performance.now() - started);
      recoveries.push({ struck: victim, ms });
      counts[victim] = (counts[victim] ?? 0) + 1;
      progress(
        `kill ${kill} of ${kills}: ${victim}; a block above ${height} was shown ${ms} ms after its restart`,
      );
    }
    const verdict = await judged(run);
    const wrong = Object.entries(run.answers)
      .filter(([status]) => !EXPECTED.has(status))
      .map(([status, times]) => `the explorer answered ${status} to ${times} requests`);
    return {
      kills: counts,
      reorganisations,
      recoveries,
      answers: run.answers,
      ...verdict,
      violations: [...verdict.violations, ...wrong],
    };
  } catch (cause) {
    throw new Error(`${messageOf(cause)}\n${run.lastLines()}`, { cause });
  } finally {
    await stack.stop();
  }
}

/** Lets everything come to rest, then compares node, log and tables. */
async function judged(run: Run): Promise<ChainVerdict> {
  const { addresses } = run.stack;
  await run.admin('/traffic', { transactions_per_second: 0 });
  await run.admin('/clt/auto', { enabled: false });
  const log = openLog({ service: 'fault-run', level: 'silent' });
  const kafka = openKafka({ kafka_brokers: [addresses.kafka_brokers] }, 'fault-run', log);
  const codec = await openCodec(addresses.registry_url, [CHAIN_BLOCKS]);
  const pool = new Pool({ connectionString: addresses.postgres_url, max: 1 });
  try {
    return await judgeChain({ kafka, codec, pool, node_url: addresses.node_url });
  } finally {
    await pool.end();
  }
}
