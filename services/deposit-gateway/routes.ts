/** All routes of deposits. Deposits of other callers do not exist. */
import {
  depositOf,
  depositsOf,
  eventsOf,
  POLICY_IN_FORCE,
  waitsForCap,
} from '../../projections/deposits/queries.ts';
import { checkOf } from '../../projections/watch/queries.ts';
import {
  DEPOSIT_API,
  GET_ADDRESS_CHECK,
  GET_DEPOSIT,
  GET_POLICY,
  LIST_DEPOSITS,
  LIST_EVENTS,
  OPEN_ADDRESS,
} from '../../schemas/deposit-api/document.ts';
import { parseDepositId } from '../../schemas/deposit-id.ts';
import type { HttpResponse, HttpRequest, Route } from '../runtime/http/handler.ts';
import { consoleLink, documentRoutes } from '../runtime/http/document-routes.ts';
import type { Cells, Reader } from '../runtime/postgres/pool.ts';
import { clientOf } from '../runtime/http/client-address.ts';
import { rateLimited } from '../runtime/http/rate-limit.ts';
import type { Callers } from './callers.ts';
import type { DepositAddresses } from './deposit-addresses.ts';
import { DEPOSIT_ERRORS, NOT_FOUND, unavailable } from './errors.ts';
import { addressBody, checkBody, detailBody, listBody, policyBody, timelineBody } from './json.ts';

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
  const owned = async (request: HttpRequest): Promise<Cells | undefined> => {
    const { id: text } = request.params;
    const id = typeof text === 'string' ? parseDepositId(text) : undefined;
    if (id === undefined) return undefined;
    const [row] = await reader.rows(depositOf(id, callers.of(request)));
    return row;
  };
  return [
    {
      method: 'post',
      path: OPEN_ADDRESS.path,
      handle: async (request) => {
        const address = await addresses.open(callers.of(request), clientOf(request));
        if (address === undefined) return LATE;
        return 'wait_ms' in address
          ? rateLimited(address.wait_ms, DEPOSIT_ERRORS, 'too many new addresses')
          : ok(addressBody(address));
      },
    },
    {
      method: 'get',
      path: LIST_DEPOSITS.path,
      handle: async (request) => ok(listBody(await reader.rows(depositsOf(callers.of(request))))),
    },
    {
      method: 'get',
      path: GET_DEPOSIT.path,
      handle: async (request) => {
        const deposit = await owned(request);
        return deposit === undefined ? NOT_FOUND : ok(detailBody(deposit));
      },
    },
    {
      method: 'get',
      path: LIST_EVENTS.path,
      handle: async (request) => {
        const deposit = await owned(request);
        if (deposit === undefined) return NOT_FOUND;
        const id = String(deposit[0]);
        const [events, waiting] = await Promise.all([
          reader.rows(eventsOf(id, callers.of(request))),
          reader.rows(waitsForCap(id, now())),
        ]);
        return ok(timelineBody(deposit, { events, waits_for_cap: waiting.length > 0 }));
      },
    },
    {
      method: 'get',
      path: GET_ADDRESS_CHECK.path,
      handle: async (request) => {
        const [check] = await reader.rows(checkOf(callers.of(request)));
        return ok(checkBody(check, now()));
      },
    },
    {
      method: 'get',
      path: GET_POLICY.path,
      handle: async () => {
        const [policy] = await reader.rows(POLICY_IN_FORCE);
        if (policy === undefined) return NO_POLICY;
        return { ...ok(policyBody(policy)), headers: { 'cache-control': 'public, max-age=10' } };
      },
    },
    ...documentRoutes(DEPOSIT_API, undefined, consoleLink(console_url)),
  ];
}

function ok(body: string): HttpResponse {
  return { status: 200, body };
}
