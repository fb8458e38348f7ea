/**
 * The reserve position that the treasury publishes, cached for a while and never shown stale, and
 * all reconciliations from the read model.
 */
import { runById, runsPage } from '../../../projections/reserve/queries.ts';
import {
  GET_RESERVE,
  GET_RESERVE_RUN,
  GET_RESERVE_TOLERANCE,
  LIST_RESERVE_RUNS,
} from '../../../schemas/explorer-api/operations.ts';
import { RECORDED_RUN } from '../../../schemas/explorer-api/reserve.ts';
import { runJson, type Reconciliation } from '../../../schemas/treasury-api/reconciliation.ts';
import type { GetRoute } from '../../runtime/http/handler.ts';
import type { Reader } from '../../runtime/postgres/pool.ts';
import type { Logger } from '../../runtime/process/log.ts';
import { rowWriter } from '../../runtime/postgres/row-json.ts';
import { pageOf } from '../routes/parameters.ts';
import { itemResponse, listResponse } from '../routes/responses.ts';
import { served } from '../routes/served.ts';
import { askTreasury, type Unavailable } from './treasury.ts';

/** A failure is cached for less, so that a treasury that is back shows soon. */
const FRESH_MS = 30_000;
const FRESH_UNAVAILABLE_MS = 5_000;

export interface Reserve {
  readonly answer: Reconciliation | Unavailable;
  /** whole seconds since the treasury answered */
  readonly age_seconds: number;
}

interface Cached {
  readonly answer: Reserve['answer'];
  /** ms */
  readonly at: number;
  readonly fresh_ms: number;
}

/** The treasury's answer or the reason why there is none; one request at a time. `now` in ms. */
export function openReserve(url: string, now: () => number, log: Logger): () => Promise<Reserve> {
  let cached: Cached | undefined;
  let refreshing: Promise<Cached> | undefined;
  let isLost = false;

  const refresh = async (): Promise<Cached> => {
    try {
      const answer = await askTreasury(url);
      const wasLost = isLost;
      isLost = 'unavailable' in answer;
      if ('unavailable' in answer && !wasLost)
        log.warn(
          { err: answer.cause },
          `the reserve position is unavailable: ${answer.unavailable}`,
        );
      if (!isLost && wasLost) log.info('the reserve position is available again');
      const freshMs = isLost ? FRESH_UNAVAILABLE_MS : FRESH_MS;
      return (cached = { answer, at: now(), fresh_ms: freshMs });
    } finally {
      refreshing = undefined;
    }
  };
  return async () => {
    const isFresh = cached !== undefined && now() - cached.at < cached.fresh_ms;
    const { answer, at } =
      isFresh && cached !== undefined ? cached : await (refreshing ??= refresh());
    return { answer, age_seconds: Math.floor((now() - at) / 1_000) };
  };
}

const NOT_CONFIGURED =
  '{"configured":false,"available":false,"cache_age_seconds":0,"last_run":null}';

/** The four bodies of the interface; undefined in a deployment without a treasury. */
function reserveBody(reserve: Reserve | undefined): string {
  if (reserve === undefined) return NOT_CONFIGURED;
  const { answer, age_seconds: ageSeconds } = reserve;
  if ('unavailable' in answer) {
    return `{"configured":true,"available":false,"cache_age_seconds":${ageSeconds},"error":${JSON.stringify(answer.unavailable)},"last_run":null}`;
  }
  const run = answer.last_run === null ? 'null' : runJson(answer.last_run);
  return `{"configured":true,"available":true,"cache_age_seconds":${ageSeconds},"last_run":${run}}`;
}

const RUNS_LIST = 'reserve_runs';

/** A row of `runsPage` or `runById`. */
const runItem = rowWriter(RECORDED_RUN, {
  made: {
    minting: (cells) => String(cells[15]),
    waiting: (cells) => String(cells[16]),
    booked_surplus: (cells) => String(cells[18]),
    refunded: (cells) => String(cells[19]),
    surplus: (cells) => String(cells[26]),
    uncovered: (cells) => String(cells[17]),
    frozen: (cells) => String(cells[25]),
  },
});

/** Without a treasury the list of runs is empty. */
export function reserveRoutes(
  reader: Reader,
  reserve: (() => Promise<Reserve>) | undefined,
): readonly GetRoute[] {
  return [
    served(GET_RESERVE, async () => ({ status: 200, body: reserveBody(await reserve?.()) })),
    served(GET_RESERVE_TOLERANCE, async () => {
      const answer = (await reserve?.())?.answer;
      const tolerance = answer !== undefined && 'last_run' in answer ? answer.tolerance : undefined;
      return { status: 200, body: `{"tolerance":${tolerance ?? 'null'}}` };
    }),
    served(LIST_RESERVE_RUNS, async (values) => {
      const page = pageOf(values, RUNS_LIST);
      if ('refused' in page) return page;
      const rows = reserve === undefined ? [] : await reader.rows(runsPage(page));
      // a cursor above the newest run would show the runs to come
      const isFinal = 'below' in page && rows[0]?.at(-1) === String(page.below - 1n);
      const { path } = LIST_RESERVE_RUNS;
      return listResponse({ path, page, list: RUNS_LIST }, rows, runItem, isFinal);
    }),
    served(GET_RESERVE_RUN, ({ id }) =>
      reserve === undefined
        ? { refused: 'not_found', message: 'this deployment has no treasury' }
        : itemResponse(reader, runById(id), runItem, 'reserve run', () => true),
    ),
  ];
}
