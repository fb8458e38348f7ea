/**
 * Start and end of every process: read the configuration, open, run until SIGTERM or SIGINT, drain.
 * Exit codes: 0 drained, 1 bad configuration, 2 fault.
 */
import { ConfigError, type Environment, type ServiceConfig } from './config.ts';
import { messageOf } from './errors.ts';
import { openLog, type Logger } from './log.ts';
import { Metrics } from './metrics.ts';
import { aborted } from './retry.ts';
import { NO_TRACING, type Tracing } from './tracing.ts';
import { openTracing } from './open-tracing.ts';

const NODE_MAJOR_MIN = 26;

export interface Service<Of> {
  readonly config: Of;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** off when not given */
  readonly tracing?: Tracing;
  /** aborted by SIGTERM and SIGINT */
  readonly signal: AbortSignal;
  readonly closing: Closing;
}

/** Open resources, closed in reverse order. */
export class Closing {
  readonly #open: { readonly name: string; readonly close: () => unknown }[] = [];

  /** `close` runs at the end, after that of every resource added later, and is awaited. */
  add(name: string, close: () => unknown): void {
    this.#open.push({ name, close });
  }

  /** Closes all, also when some fail: calls `progress` before each and `failed` with its error. */
  async close(
    progress: (name: string) => void,
    failed: (name: string, error: unknown) => void,
  ): Promise<void> {
    for (let last = this.#open.pop(); last !== undefined; last = this.#open.pop()) {
      progress(last.name);
      try {
        await last.close();
      } catch (error) {
        failed(last.name, error);
      }
    }
  }
}

/**
 * Runs a service and ends the process. `run` opens resources, adds each to `closing`, and returns
 * once the service serves, or works until `signal` aborts. When `run` throws, the process drains
 * and exits 2, or 1 for a `ConfigError` (a setting contradicts the log).
 */
export async function runMain<Of extends ServiceConfig>(
  name: string,
  read: (env: Environment) => Of,
  run: (service: Service<Of>) => Promise<void> | void,
): Promise<void> {
  const tooOld = refuseOldNode(process.versions.node);
  if (tooOld !== undefined) return refuse(name, [tooOld]);
  const config = readOrRefuse(name, read);
  let tracing = NO_TRACING;
  const log = openLog({
    service: name,
    level: config.log_level,
    traceId: config.otlp_url === undefined ? undefined : () => tracing.current.headers?.trace_id,
  });
  const stop = new AbortController();
  const closing = new Closing();
  let code = 0;

  const fail = (error: unknown, message: string): void => {
    code = error instanceof ConfigError ? 1 : 2;
    log.fatal({ err: error }, message);
    stop.abort();
  };
  // the state after such an error is unknown: no drain, a kill is harmless
  const die = (error: unknown, message: string): never => {
    log.fatal({ err: error }, message);
    process.exit(2);
  };
  process.on('uncaughtException', (error) => die(error, 'uncaught exception'));
  process.on('unhandledRejection', (error) => die(error, 'unhandled rejection'));
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      if (stop.signal.aborted) {
        log.warn({ signal }, 'second signal: exiting at once');
        process.exit(2);
      }
      log.info({ signal }, 'draining');
      stop.abort();
    });
  }

  // a pending promise does not keep the process alive
  setInterval(() => undefined, 2 ** 30);
  tracing = await openTracing(name, config, log);
  closing.add('tracing', () => tracing.close());
  const running = work(
    run,
    { config, log, metrics: new Metrics(name), tracing, signal: stop.signal, closing },
    fail,
  );
  await aborted(stop.signal);

  let waiting_for = 'work in flight';
  const late = setTimeout(() => {
    log.fatal({ waiting_for, drain_ms: config.drain_ms }, `did not stop in time: ${waiting_for}`);
    process.exit(2);
  }, config.drain_ms);
  const progress = (resource: string): void => {
    waiting_for = resource;
  };
  const failed = (resource: string, error: unknown): void =>
    fail(error, `${resource} was not closed`);
  await running;
  await closing.close(progress, failed);
  clearTimeout(late);
  log.info({ code }, 'stopped');
  process.exit(code);
}

async function work<Of>(
  run: (service: Service<Of>) => Promise<void> | void,
  service: Service<Of>,
  fail: (error: unknown, message: string) => void,
): Promise<void> {
  try {
    await run(service);
  } catch (error) {
    fail(error, messageOf(error));
  }
}

/** The remedy for an old Node; undefined when this one is new enough. */
export function refuseOldNode(version: string): string | undefined {
  if (Number.parseInt(version, 10) >= NODE_MAJOR_MIN) return undefined;
  return `Node ${NODE_MAJOR_MIN} or newer is needed, this is ${version}: start it through npm (npm start), which finds the Node installed by npm ci`;
}

function readOrRefuse<Of>(name: string, read: (env: Environment) => Of): Of {
  try {
    return read(process.env);
  } catch (error) {
    if (error instanceof ConfigError) return refuse(name, error.problems);
    throw error;
  }
}

function refuse(name: string, problems: readonly string[]): never {
  process.stderr.write(
    `${name} cannot start:\n${problems.map((problem) => `  ${problem}\n`).join('')}`,
  );
  process.exit(1);
}
