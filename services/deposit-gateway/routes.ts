/** All routes of deposits. Deposits of other callers do not exist. */
import {
  depositOf,
  depositsOf,
  eventsOf,
  POLICY_IN_FORCE,
  mintQueue,
  waitingBefore,
  waitsForCap,
} from '../../projections/deposits/queries.ts';
import { checkOf } from '../../projections/watch/queries.ts';
import {
  DEPOSIT_API,
  GET_ADDRESS_CHECK,
  GET_DEPOSIT,
  GET_MINT_QUEUE,
  GET_POLICY,
  LIST_DEPOSITS,
  LIST_EVENTS,
  OPEN_ADDRESS,
} from '../../schemas/deposit-api/document.ts';
import type { HttpRequest, Route } from '../runtime/http/handler.ts';
import type { HttpResponse } from '../runtime/http/response.ts';
import { consoleLink, documentRoutes } from '../runtime/http/document-routes.ts';
import type { Cells, Reader } from '../runtime/postgres/pool.ts';
import { posted } from '../runtime/http/posted.ts';
import { served } from '../runtime/http/served.ts';
import { rateLimited } from '../runtime/limits/rate.ts';
import type { Callers } from './callers.ts';
import type { DepositAddresses } from './deposit-addresses.ts';
import { DEPOSIT_ERRORS, NOT_FOUND, unavailable } from './errors.ts';
import {
  addressBody,
  checkBody,
  detailBody,
  listBody,
  policyBody,
  queueBody,
  timelineBody,
} from './json.ts';

export interface Sources {
  readonly reader: Reader;
  readonly callers: Pick<Callers, 'of'>;
  readonly addresses: Pick<DepositAddresses, 'open'>;
  /** Unix milliseconds */
  readonly now: () => number;
  readonly console_url?: string | undefined;
}

const LATE = unavailable(
  'the address is requested and not there yet: send the same request again shortly, it gives one address however often it is sent',
);
const NO_POLICY = unavailable(
  'no policy is in force yet: the treasury sets it at its first start, so try again shortly',
);

export function depositRoutes({
  reader,
  callers,
  addresses,
  now,
  console_url,
}: Sources): readonly Route[] {
  const owned = async (id: string, request: HttpRequest): Promise<Cells | undefined> => {
    const [row] = await reader.rows(depositOf(id, callers.of(request)));
    return row;
  };
  return [
    posted(OPEN_ADDRESS, async (_, request) => {
      const address = await addresses.open(callers.of(request), request.exchange.client);
      if (address === undefined) return LATE;
      return 'wait_ms' in address
        ? rateLimited(address.wait_ms, DEPOSIT_ERRORS, 'too many new addresses')
        : ok(addressBody(address));
    }),
    served(LIST_DEPOSITS, async (_, request) =>
      ok(listBody(await reader.rows(depositsOf(callers.of(request))))),
    ),
    served(GET_DEPOSIT, async ({ id }, request) => {
      const deposit = await owned(id, request);
      return deposit === undefined ? NOT_FOUND : ok(detailBody(deposit));
    }),
    served(LIST_EVENTS, async ({ id }, request) => {
      const deposit = await owned(id, request);
      if (deposit === undefined) return NOT_FOUND;
      const [events, waiting, [before]] = await Promise.all([
        reader.rows(eventsOf(id, callers.of(request))),
        reader.rows(waitsForCap(id, now())),
        reader.rows(waitingBefore(id)),
      ]);
      return ok(
        timelineBody(deposit, {
          events,
          waits_for_cap: waiting.length > 0,
          waiting_before: before?.[0] ?? null,
        }),
      );
    }),
    served(GET_ADDRESS_CHECK, async (_, request) => {
      const [check] = await reader.rows(checkOf(callers.of(request)));
      return ok(checkBody(check, now()));
    }),
    served(GET_POLICY, async () => {
      const [policy] = await reader.rows(POLICY_IN_FORCE);
      if (policy === undefined) return NO_POLICY;
      return { ...ok(policyBody(policy)), headers: { 'cache-control': 'public, max-age=10' } };
    }),
    served(GET_MINT_QUEUE, async () => {
      const [queue] = await reader.rows(mintQueue(now()));
      if (queue === undefined) return NO_POLICY;
      return { ...ok(queueBody(queue)), headers: { 'cache-control': 'public, max-age=1' } };
    }),
    ...documentRoutes(DEPOSIT_API, undefined, consoleLink(console_url)),
  ];
}

function ok(body: string): HttpResponse {
  return { status: 200, body };
}
