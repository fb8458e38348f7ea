/**
 * Counts in Redis that all instances of a gateway share: requests, new addresses, exports, used
 * challenges. Each instance counts the same by itself, under a limit of the same size. While Redis
 * is away that count goes on alone: no limit opens, none closes, and n instances together allow n
 * times as much (OPS-8).
 */
import { messageOf } from './process/errors.ts';
import type { Logger } from './process/log.ts';
import type { Metrics } from './process/metrics.ts';
import { connect, type RedisSettings } from './redis.ts';

/** A request waits no longer for its count. */
const ANSWER_MS = 500;

/** Does nothing, and is refused by a replica: it does not promise to write nothing. */
const MAY_WRITE = `#!lua
return 1`;

export interface SharedCounts {
  /**
   * The answer of a Lua script, which may read and write these keys; they end by themselves.
   * Undefined while Redis is away, or does not answer: then the script may have run all the same.
   */
  run(
    script: string,
    keys: readonly string[],
    values: readonly (string | number)[],
  ): Promise<unknown>;
  close(): Promise<void>;
}

export function openSharedCounts(
  settings: RedisSettings,
  name: string,
  log: Logger,
  metrics: Metrics,
): SharedCounts {
  const redis = connect(settings, name, log, false, 'limits count in this process alone');
  /** the failure in a row that was logged */
  let failure: string | undefined;
  /** unanswered for longer than anybody waits */
  let late = 0;
  metrics.gauge(
    'limits_shared',
    '1 while limits count for all instances, in Redis',
    [],
    function () {
      this.set(Number(redis.status === 'ready' && failure === undefined));
    },
  );
  const failed = (why: string): void => {
    if (failure === undefined)
      log.warn({ why }, 'Redis does not count; limits count in this process alone until it does');
    failure = why;
  };
  const succeeded = (): void => {
    if (failure !== undefined) log.info('Redis counts again');
    failure = undefined;
  };
  const ask: SharedCounts['run'] = async (script, keys, values) => {
    try {
      const answer = await redis.eval(script, keys.length, ...keys, ...values);
      succeeded();
      return answer;
    } catch (error) {
      // the connection logs its own errors
      if (error instanceof Error && error.name === 'ReplyError') failed(messageOf(error));
      return undefined;
    }
  };
  redis.on('ready', () => void ask(MAY_WRITE, [], []));
  return {
    async run(script, keys, values) {
      // behind a question that Redis leaves unanswered nobody else waits
      if (redis.status !== 'ready' || late > 0) return undefined;
      const answer = ask(script, keys, values);
      const timeout = Promise.withResolvers<undefined>();
      const timer = setTimeout(() => {
        failed(`no answer within ${ANSWER_MS} ms`);
        late++;
        void answer.finally(() => late--);
        timeout.resolve(undefined);
      }, ANSWER_MS);
      return Promise.race([answer, timeout.promise]).finally(() => clearTimeout(timer));
    },
    close: () => Promise.resolve(redis.disconnect()),
  };
}
