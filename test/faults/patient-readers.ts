/**
 * Readers of all gateways that accept only status 200, also while tables are rebuilt and replaced.
 */
import { KeepAlive } from '../bench/keep-alive.ts';
import { percentile } from '../bench/report.ts';
import type { Random } from '../support/random.ts';
import type { Depositors } from './depositors.ts';

export const EXPLORER_PATHS = [
  '/api/v1/blocks?limit=50',
  '/api/v1/blocks?limit=20&offset=100',
  '/api/v1/transactions?limit=50',
  '/api/v1/transactions?limit=20&offset=200',
  '/api/v1/transactions?type=Transfer',
  '/api/v1/validators',
  '/api/v1/stats',
  '/api/v1/status',
  '/api/v1/reserve/runs',
];
export const HUB_QUERIES = [
  '{ listRideRequests { txHash fare } }',
  '{ listActiveTrips { txHash farePaid } }',
  '{ listCompletedTrips { txHash fare } }',
  '{ listRecentTrips { txHash tripStatus } }',
];

export class PatientReaders {
  /** violations that clients have seen */
  readonly violations = new Set<string>();
  requests = 0;
  readonly #over = new AbortController();
  readonly #random: Random;
  readonly #running: readonly Promise<void>[];
  #timings: number[] = [];

  constructor(
    urls: { readonly explorer: string; readonly hub: string },
    depositors: Depositors,
    random: Random,
  ) {
    this.#random = random;
    const hub = async (): Promise<void> => {
      const body = JSON.stringify({ query: random.pick(HUB_QUERIES) });
      const answer = await fetch(`${urls.hub}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
      });
      const text = await answer.text();
      if (answer.status !== 200 || text.includes('"errors"'))
        this.violations.add(`hub answered ${answer.status}: ${text.slice(0, 300)}`);
    };
    this.#running = [
      this.#explore(urls.explorer),
      this.#explore(urls.explorer),
      this.#again(hub),
      this.#again(() => depositors.look()),
    ];
  }

  /** A high percentile of the explorer's response times since the last call, in milliseconds. */
  p99(): number {
    const p99 = percentile(this.#timings, 0.99);
    this.#timings = [];
    return p99;
  }

  async stop(): Promise<void> {
    this.#over.abort();
    await Promise.all(this.#running);
  }

  async #explore(url: string): Promise<void> {
    const connection = await KeepAlive.open(url);
    await this.#again(async () => {
      const path = this.#random.pick(EXPLORER_PATHS);
      const begun = performance.now();
      const { status, body } = await connection.get(path);
      this.#timings.push(performance.now() - begun);
      if (status !== 200)
        this.violations.add(`${path} answered ${status}: ${body.toString().slice(0, 300)}`);
    });
    connection.close();
  }

  async #again(ask: () => Promise<void>): Promise<void> {
    while (!this.#over.signal.aborted) {
      await ask().catch(
        (error: unknown) => void this.violations.add(`a request failed: ${String(error)}`),
      );
      this.requests++;
    }
  }
}
