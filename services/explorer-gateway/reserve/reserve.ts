/**
 * The reserve position as the treasury published it: asked for at most once in a while however many
 * want it, and never shown for longer than it is fresh.
 */
import { runJson, type Reconciliation } from '../../../schemas/reconciliation.ts';
import type { Route } from '../../runtime/http/handler.ts';
import type { Logger } from '../../runtime/process/log.ts';
import { askTreasury, type Unavailable } from './treasury.ts';

/**
 * How long an answer stands. That there is none is asked again sooner, so that a treasury that is
 * back shows soon.
 */
const FRESH_MS = 30_000;
const FRESH_UNAVAILABLE_MS = 5_000;

export interface Reserve {
  readonly answer: Reconciliation | Unavailable;
  /** whole seconds since the treasury answered */
  readonly age_seconds: number;
}

/**
 * The treasury's answer, or why there is none; one request to it at a time. `now` in ms of a clock
 * that never goes back.
 */
export function openReserve(
  url: string,
  now: () => number,
  log: Logger,
  ask: typeof askTreasury = askTreasury,
): () => Promise<Reserve> {
  let held: { readonly answer: Reserve['answer']; readonly at: number } | undefined;
  let asking: Promise<NonNullable<typeof held>> | undefined;
  let silent = false;

  const refresh = async (): Promise<NonNullable<typeof held>> => {
    try {
      const answer = await ask(url);
      const wasSilent = silent;
      silent = 'unavailable' in answer;
      if ('unavailable' in answer && !wasSilent)
        log.warn(
          { err: answer.cause },
          `the reserve position is unavailable: ${answer.unavailable}`,
        );
      if (!silent && wasSilent) log.info('the reserve position is available again');
      return (held = { answer, at: now() });
    } finally {
      asking = undefined;
    }
  };
  return async () => {
    const stands =
      held !== undefined &&
      now() - held.at < ('unavailable' in held.answer ? FRESH_UNAVAILABLE_MS : FRESH_MS);
    const { answer, at } = stands && held !== undefined ? held : await (asking ??= refresh());
    return { answer, age_seconds: Math.floor((now() - at) / 1_000) };
  };
}

const NOT_CONFIGURED =
  '{"configured":false,"available":false,"cache_age_seconds":0,"last_run":null}';

/** The four answers of the interface; undefined: no treasury is behind this deployment. */
export function reserveBody(reserve: Reserve | undefined): string {
  if (reserve === undefined) return NOT_CONFIGURED;
  const { answer, age_seconds: age } = reserve;
  if ('unavailable' in answer) {
    return `{"configured":true,"available":false,"cache_age_seconds":${age},"error":${JSON.stringify(answer.unavailable)},"last_run":null}`;
  }
  const run = answer.last_run === null ? 'null' : runJson(answer.last_run);
  return `{"configured":true,"available":true,"cache_age_seconds":${age},"last_run":${run}}`;
}

export function reserveRoute(reserve: (() => Promise<Reserve>) | undefined): Route {
  return {
    method: 'get',
    path: '/api/v1/reserve',
    handle: async () => ({ status: 200, body: reserveBody(await reserve?.()) }),
  };
}
