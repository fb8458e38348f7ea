/**
 * TRON's provider over HTTP. Only this file knows its routes. Every request takes a token from the
 * bucket. Responses are parsed strictly: a malformed one is a fault, never "nothing found".
 *
 * A failure is the provider's, or that of one address or transaction. Where no other request of the
 * route was answered since a failed one about these was made, the one that was answered last is
 * made again, or that for the head. An answer shows that the provider serves others: then nothing
 * pauses, and the fault is `BAD_ANSWER`. Every other failure starts a back-off with jitter, or the
 * pause that the provider asks for; requests that were made before it fail with it, as one failure.
 */
import {
  parseBalance,
  parseBalances,
  parseHead,
  parseList,
  parseOptionalWord,
  parseReceipt,
  tokenState,
  type ListPage,
  type TokenBalance,
  type TokenState,
  type TronHead,
  type TronReceipt,
} from '../../../schemas/trongrid.ts';
import type { Parsed } from '../../../schemas/json-reader.ts';
import { toTronAddress } from '../../../schemas/tron-address.ts';
import { balancesCall, BLOCKED_FUNCTION, TOKEN_FUNCTIONS } from '../../../schemas/tron-balances.ts';
import { Fault, messageOf, propertyOf } from '../process/errors.ts';
import type { Backoff } from './backoff.ts';
import type { TokenBucket } from './token-bucket.ts';

/** Rows of a page, as many as the provider allows. */
export const PAGE_ROWS = 200;
const TIMEOUT_MS = 10_000;
/** A list of 200 rows has about 100 KiB, a receipt with hundreds of logs as much. */
const BODY_BYTES_MAX = 4 * 1024 * 1024;

/** Concerns one address or transaction: the provider serves others. */
export const BAD_ANSWER = 'tron_answer';
/** Faults of the provider, and of one address or transaction. */
const PROVIDER_FAULT = /^tron_/;

export function isProviderFault(error: unknown): error is Fault {
  return error instanceof Fault && error.retry && PROVIDER_FAULT.test(error.code);
}

export type Outcome = 'ok' | 'throttled' | 'refused' | 'unreachable' | 'bad_answer';

export interface TronGridOptions {
  readonly tron_url: string;
  /** empty: none */
  readonly tron_api_key: string;
  /** 20 bytes: the watched token */
  readonly usdt_contract: Buffer;
  readonly bucket: TokenBucket;
  readonly backoff: Backoff;
  /** attempts in a row before a request counts as failed */
  readonly attempts_max: number;
  /** attempts of a request about one address or transaction; default: `attempts_max` */
  readonly single_attempts_max?: number | undefined;
  readonly signal: AbortSignal;
  readonly onRequest: (route: string, outcome: Outcome) => void;
  /** milliseconds of a monotonic clock; by default in real time, like the next */
  readonly now?: () => number;
  readonly timeout?: (ms: number) => AbortSignal;
}

interface ProviderRequest<T> {
  readonly route: string;
  readonly path: string;
  /** given: a POST */
  readonly body?: object;
  /** about one address or transaction, or several: it may fail alone */
  readonly single?: boolean;
  /** a bad answer is final */
  readonly once?: boolean;
  readonly parse: (json: unknown) => Parsed<T>;
}

export interface ListRequest {
  readonly address: Buffer;
  /** Unix milliseconds; whether it is inclusive is not documented */
  readonly min_timestamp: number;
  /** the fingerprint of the page before and the time of its last row */
  readonly after: { readonly fingerprint: string; readonly block_timestamp: number } | undefined;
}

/**
 * The request for the page after this one; undefined: it was the last. A full page that names no
 * next one is not believed to be the last: the list goes on from its end, with the rows of that
 * time once more. Throws `BAD_ANSWER` where the page has one time only.
 */
export function nextPage(
  { address, min_timestamp }: ListRequest,
  { rows, fingerprint }: ListPage,
): ListRequest | undefined {
  const block_timestamp = rows.at(-1)?.block_timestamp;
  if (block_timestamp === undefined) return undefined;
  if (fingerprint !== undefined)
    return { address, min_timestamp, after: { fingerprint, block_timestamp } };
  if (rows.length < PAGE_ROWS) return undefined;
  if (block_timestamp - 1 > min_timestamp)
    return { address, min_timestamp: block_timestamp - 1, after: undefined };
  throw new Fault(
    BAD_ANSWER,
    `TRON's provider lists ${rows.length} transfers of one block time and no page after them; the request is repeated`,
    { retry: true },
  );
}

export class TronGrid {
  readonly #options: TronGridOptions;
  readonly #now: () => number;
  /** by route, the request about one address or transaction that was answered last, and when */
  readonly #answered = new Map<
    string,
    { readonly request: ProviderRequest<unknown>; readonly at: number }
  >();
  /** by route, whether it serves others */
  readonly #probes = new Map<string, Promise<boolean>>();
  /** the provider's newest failure as a whole */
  #failure: { readonly at: number; readonly result: Failure } | undefined;

  constructor(options: TronGridOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  /** The newest solidified block. */
  head(): Promise<TronHead> {
    return this.#request(HEAD);
  }

  /** Resolves once every request asked for before has had its turn: the number made so far. */
  idle(): Promise<number> {
    return this.#options.bucket.idle();
  }

  /** Backs off: the lists of many addresses failed in a row, and none was answered. */
  failing(): void {
    this.#options.backoff.failed(LIST_ROUTE);
  }

  /** One page of the transfers to an address, oldest first. */
  list({ address, min_timestamp, after }: ListRequest): Promise<ListPage> {
    const query = new URLSearchParams({
      only_confirmed: 'true',
      only_to: 'true',
      contract_address: toTronAddress(this.#options.usdt_contract),
      limit: String(PAGE_ROWS),
      order_by: 'block_timestamp,asc',
      min_timestamp: String(min_timestamp),
      ...(after === undefined ? {} : { fingerprint: after.fingerprint }),
    });
    return this.#request({
      route: LIST_ROUTE,
      single: true,
      path: `/v1/accounts/${toTronAddress(address)}/transactions/trc20?${query.toString()}`,
      parse: (json) => continued(parseList(json), after),
    });
  }

  /** Undefined: the transaction is not solidified yet, or unknown. */
  receipt(txId: Buffer): Promise<TronReceipt | undefined> {
    return this.#request({
      route: 'gettransactioninfobyid',
      single: true,
      path: '/walletsolidity/gettransactioninfobyid',
      body: { value: txId.toString('hex') },
      parse(json) {
        const read = parseReceipt(json);
        const other = 'value' in read && read.value?.tx_id.equals(txId) === false;
        return other ? { problem: 'it is the receipt of another transaction' } : read;
      },
    });
  }

  /** The address' balance of the token at the newest solidified block, in base units. */
  balance(address: Buffer): Promise<bigint> {
    return this.#ask('balanceOf(address)', address, parseBalance);
  }

  /** Whether the token lets nothing leave the address. A token that blocks nobody has no answer. */
  async isBlocked(address: Buffer): Promise<boolean> {
    return (await this.#ask(BLOCKED_FUNCTION, address, parseOptionalWord)) !== 0n;
  }

  /** The token at the newest solidified block: a request for each of `TOKEN_FUNCTIONS`. */
  async token(): Promise<TokenState> {
    const words: bigint[] = [];
    for (const each of TOKEN_FUNCTIONS)
      words.push(await this.#ask(each, this.#options.usdt_contract, parseOptionalWord));
    return tokenState(words);
  }

  /**
   * The token, and several addresses, at one solidified block. A bad answer is not asked for again:
   * the provider may not know the call, or allow it less time than so many addresses take.
   */
  balances(
    addresses: readonly Buffer[],
  ): Promise<{ readonly token: TokenState; readonly balances: readonly TokenBalance[] }> {
    const token = this.#options.usdt_contract;
    const data = balancesCall(token, addresses).toString('hex');
    return this.#constantCall(
      { owner_address: toTronAddress(token), data },
      { parse: (json) => parseBalances(json, addresses.length), once: true },
    );
  }

  /** Asks a function of the token; one without a parameter reads none. */
  #ask<T>(
    function_selector: string,
    address: Buffer,
    parse: (json: unknown) => Parsed<T>,
  ): Promise<T> {
    const call = {
      owner_address: toTronAddress(address),
      contract_address: toTronAddress(this.#options.usdt_contract),
      function_selector,
      parameter: address.toString('hex').padStart(64, '0'),
    };
    return this.#constantCall(call, { parse });
  }

  #constantCall<T>(call: object, how: Pick<ProviderRequest<T>, 'parse' | 'once'>): Promise<T> {
    const route = 'triggerconstantcontract';
    const body = { ...call, visible: true };
    return this.#request({
      route,
      single: true,
      path: `/walletsolidity/${route}`,
      body,
      ...how,
    });
  }

  async #request<T>(request: ProviderRequest<T>): Promise<T> {
    const { route, single = false, once = false } = request;
    const {
      attempts_max: attemptsMax,
      single_attempts_max: singleAttemptsMax = attemptsMax,
      signal,
    } = this.#options;
    for (let attempt = 1; ; attempt++) {
      const since = this.#now();
      const result = await this.#paced(request);
      if (result.outcome === 'ok') {
        if (single && !once) this.#answered.set(route, { request, at: this.#now() });
        return result.value;
      }
      const isFinal = result.outcome === 'refused' || (result.outcome === 'bad_answer' && once);
      const isAlone =
        single && !result.is_of_all && (isFinal || (await this.#servesOthers(request, since)));
      if (!isAlone) this.#failed(route, result, since);
      const isLast =
        attempt >= (single ? singleAttemptsMax : attemptsMax) ||
        isFinal ||
        result.suspended_ms !== undefined;
      if (isLast || signal.aborted) throw faultOf(request, result, isAlone);
    }
  }

  /** The provider has failed as a whole, with a request that was made at this time. */
  #failed(route: string, result: Failure, since: number): void {
    const { backoff } = this.#options;
    const { suspended_ms: suspendedMs = 0 } = result;
    if (this.#failureSince(since) !== undefined && suspendedMs <= backoff.rest_ms) return;
    backoff.failed(route, result.suspended_ms);
    this.#failure = { at: this.#now(), result: { ...result, is_of_all: true } };
  }

  #failureSince(time: number): Failure | undefined {
    const { at = Number.NEGATIVE_INFINITY, result } = this.#failure ?? {};
    return at > time ? result : undefined;
  }

  /** Whether another request of the route is answered that ended after this time. */
  async #servesOthers(request: ProviderRequest<unknown>, since: number): Promise<boolean> {
    const { route } = request;
    const isAnswered = (): boolean => (this.#answered.get(route)?.at ?? since) > since;
    if (isAnswered()) return true;
    const end = (): unknown => this.#probes.delete(route);
    const probe = this.#probes.get(route) ?? this.#probe(request).finally(end);
    this.#probes.set(route, probe);
    return (await probe) || isAnswered();
  }

  /**
   * Makes the request of the route that was answered last, or, where that is this one or none was,
   * that for the head. A request that is not answered any more is no measure for the next one.
   */
  async #probe({ route, path, body }: ProviderRequest<unknown>): Promise<boolean> {
    const last = this.#answered.get(route)?.request;
    this.#answered.delete(route);
    const isOther =
      last !== undefined &&
      (last.path !== path || JSON.stringify(last.body) !== JSON.stringify(body));
    const { outcome } = await this.#paced(isOther ? last : HEAD);
    if (outcome !== 'ok') return false;
    if (isOther) this.#answered.set(route, { request: last, at: this.#now() });
    return true;
  }

  async #paced<T>(request: ProviderRequest<T>): Promise<Result<T>> {
    const { bucket, backoff, signal, onRequest } = this.#options;
    const since = this.#now();
    return bucket.run(
      async () => {
        const failed = this.#failureSince(since);
        if (failed !== undefined) return failed;
        const result = await this.#attempt(request);
        onRequest(request.route, result.outcome);
        if (result.outcome !== 'ok') return result;
        backoff.succeeded(request.route);
        return result;
      },
      async () => {
        if (this.#failureSince(since) === undefined) await backoff.wait(signal);
      },
    );
  }

  async #attempt<T>({ path, body: sent, parse }: ProviderRequest<T>): Promise<Result<T>> {
    const { tron_url: tronUrl, tron_api_key: tronApiKey, signal } = this.#options;
    const { timeout = AbortSignal.timeout.bind(AbortSignal) } = this.#options;
    const headers = {
      accept: 'application/json',
      ...(tronApiKey === '' ? {} : { 'TRON-PRO-API-KEY': tronApiKey }),
    };
    try {
      const response = await fetch(`${tronUrl}${path}`, {
        redirect: 'error',
        signal: AbortSignal.any([signal, timeout(TIMEOUT_MS)]),
        ...(sent === undefined
          ? { headers }
          : {
              method: 'POST',
              headers: { ...headers, 'content-type': 'application/json' },
              body: JSON.stringify(sent),
            }),
      });
      const body = await textOf(response);
      const answer = tronApiKey === '' ? body : body?.replaceAll(tronApiKey, '(key)');
      return answer === undefined
        ? failure('bad_answer', 'its answer is far too long')
        : judged(response, answer, parse);
    } catch (cause) {
      const code = propertyOf(propertyOf(cause, 'cause'), 'code');
      return failure(
        'unreachable',
        typeof code === 'string' ? `${messageOf(cause)} (${code})` : messageOf(cause),
        { cause },
      );
    }
  }
}

/** Refuses a page that repeats or precedes the page before: the pages after it would be skipped. */
function continued(read: Parsed<ListPage>, after: ListRequest['after']): Parsed<ListPage> {
  if ('problem' in read) return read;
  const { rows, fingerprint } = read.value;
  if (fingerprint !== undefined && rows.length === 0)
    return { problem: 'it is an empty page that is not the last' };
  if (after === undefined) return read;
  if (fingerprint === after.fingerprint) return { problem: 'it is the page before again' };
  return rows.some((row) => row.block_timestamp < after.block_timestamp)
    ? { problem: 'it goes back behind the page before' }
    : read;
}

const LIST_ROUTE = 'trc20';

const HEAD: ProviderRequest<TronHead> = {
  route: 'getnowblock',
  path: '/walletsolidity/getnowblock',
  body: {},
  parse: parseHead,
};

type Result<T> = { readonly outcome: 'ok'; readonly value: T } | Failure;

interface Failure {
  readonly outcome: Exclude<Outcome, 'ok'>;
  readonly reason: string;
  /** the pause that the provider asks for; undefined: none */
  readonly suspended_ms: number | undefined;
  /** the provider refuses every request, or wants fewer of them */
  readonly is_of_all: boolean;
  readonly cause?: unknown;
}

function failure(
  outcome: Failure['outcome'],
  reason: string,
  more: Partial<Failure> = {},
): Failure {
  return { outcome, reason, suspended_ms: undefined, is_of_all: false, ...more };
}

/** The body as text; undefined when it is longer than any valid response: the rest is not read. */
async function textOf(response: Response): Promise<string | undefined> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > BODY_BYTES_MAX) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

const EXCERPT = 200;

function judged<T>(
  { status, headers }: Response,
  body: string,
  parse: (json: unknown) => Parsed<T>,
): Result<T> {
  const said = `it answered ${status}: ${body.slice(0, EXCERPT)}`;
  if (status === 403 || status === 429 || status === 503) {
    const suspended_ms = suspension(headers, body);
    const is_of_all = status === 429 || suspended_ms !== undefined;
    return failure('throttled', said, { suspended_ms, is_of_all });
  }
  if (status === 401) return failure('refused', said, { is_of_all: true });
  if (status > 500) return failure('unreachable', said);
  if (status !== 200) return failure('bad_answer', said);
  let json: unknown;
  try {
    json = JSON.parse(body);
  } catch {
    return failure('bad_answer', `its answer is no JSON: ${body.slice(0, EXCERPT)}`);
  }
  const read = parse(json);
  return 'problem' in read
    ? failure('bad_answer', read.problem)
    : { outcome: 'ok', value: read.value };
}

/** From a header, or from the text "the query server is suspended for 30s". */
function suspension(headers: Headers, body: string): number | undefined {
  const seconds =
    /^[0-9]{1,6}$/.exec(headers.get('retry-after') ?? '')?.[0] ??
    /suspended for ([0-9]{1,6})\s*s/i.exec(body)?.[1];
  return seconds === undefined ? undefined : Number(seconds) * 1_000;
}

const MEANINGS: Readonly<
  Record<Failure['outcome'], { readonly code: string; readonly remedy: string }>
> = {
  throttled: {
    code: 'tron_throttled',
    remedy:
      "lower APP_TRON_REQUESTS_PER_SECOND and APP_TRON_REQUESTS_PER_DAY (of the treasury: APP_RECONCILE_REQUESTS_PER_..; they share a key's quota), or give APP_TRON_API_KEY one that is allowed more",
  },
  refused: { code: 'tron_refused', remedy: 'correct APP_TRON_API_KEY' },
  unreachable: {
    code: 'tron_unreachable',
    remedy: 'check that APP_TRON_URL can be reached from here; the request is repeated',
  },
  bad_answer: {
    code: 'tron_answers',
    remedy:
      "check that APP_TRON_URL is a provider with TronGrid's interface; the request is repeated",
  },
};

const ALONE = {
  code: BAD_ANSWER,
  remedy: 'it serves others, so this address or transaction is asked about again later',
};

function faultOf(
  { route }: Pick<ProviderRequest<unknown>, 'route'>,
  { outcome, reason, cause }: Failure,
  isAlone: boolean,
): Fault {
  const { code, remedy } = isAlone ? ALONE : MEANINGS[outcome];
  const message = `TRON's provider did not serve ${route}: ${reason}; ${remedy}`;
  return new Fault(code, message, { retry: true, ...(cause === undefined ? {} : { cause }) });
}
