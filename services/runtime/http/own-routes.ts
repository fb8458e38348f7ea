/** The routes that every service has: probes for anybody, figures for operators. */
import { performance } from 'node:perf_hooks';
import { Health, type Check, type Remarks } from '../process/health.ts';
import type { Logger } from '../process/log.ts';
import type { Metrics } from '../process/metrics.ts';
import type { ErrorShape, Route } from './handler.ts';
import type { HttpResponse } from './response.ts';

export interface OwnRoutesOptions {
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly checks?: readonly Check[];
  /** what the process says of itself besides, for `/status`; nothing when not given */
  readonly remarks?: () => Remarks;
  /** phase while all checks pass, for `/status`; `serving` when not given */
  readonly phase?: () => string;
}

export interface OwnRoutes {
  /** `/health` and `/ready` */
  readonly probes: readonly Route[];
  /** `/status` and `/metrics` */
  readonly figures: readonly Route[];
}

/** Clients share an answer for so long: the checks ask Postgres. */
const READY_MS = 1_000;

/** `isApart`: `/status` and `/metrics` are on a port of their own. */
export function ownRoutes(
  { log, metrics, checks = [], phase = () => 'serving', remarks }: OwnRoutesOptions,
  isApart: boolean,
  shape: ErrorShape,
): OwnRoutes {
  const health = new Health(checks, phase, log, remarks);
  const isReady = metrics.gauge('service_ready', '1 while /ready answers 200');
  const waits = metrics.gauge(
    'service_waits_for',
    '1 while the service waits for this dependency, as /status names it',
    ['dependency'],
  );
  const halts = metrics.gauge(
    'service_halted',
    '1 while this part of the service waits for a person',
    ['part'],
  );
  metrics.gauge(
    'service_clock_seconds',
    'Unix time by the clock of the machine of this service',
    [],
    function () {
      this.set(Date.now() / 1_000);
    },
  );
  /** Sets these gauges by one look at the checks. */
  const measure = async (): Promise<void> => {
    const problems = await health.problems();
    isReady.set(Number(problems.length === 0));
    waits.reset();
    halts.reset();
    for (const { status, part, waits_for: waitsFor } of problems) {
      if (status === 'halted') halts.set({ part }, 1);
      else if (waitsFor !== undefined) waits.set({ dependency: waitsFor }, 1);
    }
  };
  const look = async (): Promise<HttpResponse> => {
    const problems = await health.problems();
    if (problems.length === 0) return { status: 200, body: '{"status":"ready"}' };
    const message = problems.map((problem) => problem.message).join('; ');
    const failure = { status: 503, code: 'not_ready', message };
    return { status: failure.status, body: shape.body(failure) };
  };
  let last = { at: Number.NEGATIVE_INFINITY, answer: look };
  const ready = (): Promise<HttpResponse> => {
    // a service without clients of its own
    if (!isApart) return look();
    const now = performance.now();
    if (now - last.at >= READY_MS) {
      const answer = look();
      last = { at: now, answer: () => answer };
    }
    return last.answer();
  };
  const status = async (): Promise<HttpResponse> => ({
    status: 200,
    body: JSON.stringify(await health.status()),
  });
  const scrape = async (): Promise<HttpResponse> => {
    await measure();
    return { status: 200, body: await metrics.text(), content_type: metrics.content_type };
  };
  return {
    probes: [
      { method: 'get', path: '/health', handle: () => ({ status: 200, body: '{"status":"ok"}' }) },
      { method: 'get', path: '/ready', handle: ready },
    ],
    figures: [
      { method: 'get', path: '/status', handle: status },
      { method: 'get', path: '/metrics', handle: scrape },
    ],
  };
}
