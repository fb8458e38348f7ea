/**
 * TRON's provider over HTTP: the one place that knows its routes. Every request goes through the token bucket; after each failure nobody asks for a while, growing and
 * with jitter, or as long as the provider says. What it says is parsed strictly: what is no answer is a fault, never "nothing found".
 */
import {
  parseBalance,
  parseHead,
  parseList,
  parseReceipt,
  type ListPage,
  type Parsed,
  type TronHead,
  type TronReceipt,
} from '../../../schemas/trongrid.ts';
import { toTronAddress } from '../../../schemas/tron-address.ts';
import { Fault, messageOf, propertyOf } from '../process/errors.ts';
import { textOf } from './answer-text.ts';
import type { Backoff } from './backoff.ts';
import type { TokenBucket } from './token-bucket.ts';

const PAGE_ROWS = 200;
const ANSWER_MS = 10_000;

/** Of one question, to one address: asking about another may go well. */
export const BAD_ANSWER = 'tron_answer';

export type Outcome = 'ok' | 'throttled' | 'refused' | 'unreachable' | 'bad_answer';

export interface TronGridOptions {
  readonly tron_url: string;
  readonly tron_api_key: string | undefined;
  /** 20 bytes: the token that is watched */
  readonly contract: Buffer;
  readonly bucket: TokenBucket;
  readonly backoff: Backoff;
  /** how often a question is asked in a row before it counts as failed */
  readonly attempts_max: number;
  readonly signal: AbortSignal;
  /** told of each request */
  readonly onRequest: (route: string, outcome: Outcome) => void;
}

interface Question<T> {
  readonly route: string;
  readonly path: string;
  /** of a POST */
  readonly body?: object;
  readonly parse: (json: unknown) => Parsed<T>;
}

export interface ListQuestion {
  readonly address: Buffer;
  /** Unix milliseconds; whether it is inclusive is not documented */
  readonly min_timestamp: number;
  /** of the page before, and the time of its last row */
  readonly after: { readonly fingerprint: string; readonly block_timestamp: number } | undefined;
}

export class TronGrid {
  readonly #options: TronGridOptions;

  constructor(options: TronGridOptions) {
    this.#options = options;
  }

  /** The newest solidified block. */
  head(): Promise<TronHead> {
    return this.#ask({
      route: 'getnowblock',
      path: '/walletsolidity/getnowblock',
      body: {},
      parse: parseHead,
    });
  }

  /** One page of what came to an address, the oldest first. */
  list({ address, min_timestamp, after }: ListQuestion): Promise<ListPage> {
    const query = new URLSearchParams({
      only_confirmed: 'true',
      only_to: 'true',
      contract_address: toTronAddress(this.#options.contract),
      limit: String(PAGE_ROWS),
      order_by: 'block_timestamp,asc',
      min_timestamp: String(min_timestamp),
      ...(after === undefined ? {} : { fingerprint: after.fingerprint }),
    });
    return this.#ask({
      route: 'trc20',
      path: `/v1/accounts/${toTronAddress(address)}/transactions/trc20?${query.toString()}`,
      parse: (json) => continued(parseList(json), after),
    });
  }

  /** Undefined: not solidified, or not known: ask again later. */
  receipt(txId: Buffer): Promise<TronReceipt | undefined> {
    return this.#ask({
      route: 'gettransactioninfobyid',
      path: '/walletsolidity/gettransactioninfobyid',
      body: { value: txId.toString('hex') },
      parse(json) {
        const read = parseReceipt(json);
        const other = 'value' in read && read.value?.tx_id.equals(txId) === false;
        return other ? { problem: 'it is the receipt of another transaction' } : read;
      },
    });
  }

  /** What the address has of the token at the newest solidified block, in base units. */
  balance(address: Buffer): Promise<bigint> {
    const body = {
      owner_address: toTronAddress(address),
      contract_address: toTronAddress(this.#options.contract),
      function_selector: 'balanceOf(address)',
      parameter: address.toString('hex').padStart(64, '0'),
      visible: true,
    };
    return this.#ask({
      route: 'triggerconstantcontract',
      path: '/walletsolidity/triggerconstantcontract',
      body,
      parse: parseBalance,
    });
  }

  async #ask<T>(question: Question<T>): Promise<T> {
    const { bucket, backoff, attempts_max: attempts, signal, onRequest } = this.#options;
    for (let attempt = 1; ; attempt++) {
      await backoff.wait(signal);
      const told = await bucket.run(() => this.#attempt(question));
      onRequest(question.route, told.outcome);
      if (told.outcome === 'ok') {
        backoff.succeeded();
        return told.value;
      }
      backoff.failed(told.suspended_ms);
      const isLast =
        attempt >= attempts || told.outcome === 'refused' || told.suspended_ms !== undefined;
      if (isLast || signal.aborted) throw faultOf(question.route, told);
    }
  }

  async #attempt<T>({ path, body, parse }: Question<T>): Promise<Told<T>> {
    const { tron_url: url, tron_api_key: key, signal } = this.#options;
    const headers = {
      accept: 'application/json',
      ...(key === undefined ? {} : { 'TRON-PRO-API-KEY': key }),
    };
    try {
      const response = await fetch(`${url}${path}`, {
        redirect: 'error',
        signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)]),
        ...(body === undefined
          ? { headers }
          : {
              method: 'POST',
              headers: { ...headers, 'content-type': 'application/json' },
              body: JSON.stringify(body),
            }),
      });
      const said = await textOf(response);
      const text = key === undefined ? said : said?.replaceAll(key, '(key)');
      return text === undefined
        ? failure('bad_answer', 'its answer is far too long')
        : judged(response, text, parse);
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

/** A page that is the one before once more, or lies before it, is none: what follows would be taken for known. */
function continued(read: Parsed<ListPage>, after: ListQuestion['after']): Parsed<ListPage> {
  if ('problem' in read) return read;
  const { rows, fingerprint } = read.value;
  if (fingerprint !== undefined && rows.length === 0)
    return { problem: 'it is an empty page that is not the last' };
  if (after === undefined) return read;
  if (fingerprint === after.fingerprint) return { problem: 'it is the page before once more' };
  return rows.some((row) => row.block_timestamp < after.block_timestamp)
    ? { problem: 'it goes back behind the page before' }
    : read;
}

type Told<T> = { readonly outcome: 'ok'; readonly value: T } | Failure;

interface Failure {
  readonly outcome: Exclude<Outcome, 'ok'>;
  readonly what: string;
  /** how long nobody is to ask; undefined: it does not say */
  readonly suspended_ms: number | undefined;
  readonly cause?: unknown;
}

function failure(
  outcome: Failure['outcome'],
  what: string,
  more: { readonly suspended_ms?: number | undefined; readonly cause?: unknown } = {},
): Failure {
  return { outcome, what, suspended_ms: undefined, ...more };
}

const EXCERPT = 200;

function judged<T>(
  { status, headers }: Response,
  text: string,
  parse: (json: unknown) => Parsed<T>,
): Told<T> {
  const said = `it answered ${status}: ${text.slice(0, EXCERPT)}`;
  if (status === 403 || status === 429 || status === 503)
    return failure('throttled', said, { suspended_ms: suspension(headers, text) });
  if (status === 401) return failure('refused', said);
  if (status > 500) return failure('unreachable', said);
  if (status !== 200) return failure('bad_answer', said);
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return failure('bad_answer', `its answer is no JSON: ${text.slice(0, EXCERPT)}`);
  }
  const read = parse(json);
  return 'problem' in read
    ? failure('bad_answer', read.problem)
    : { outcome: 'ok', value: read.value };
}

/** In a header, or in its own words: "the query server is suspended for 30s". */
function suspension(headers: Headers, text: string): number | undefined {
  const seconds =
    /^[0-9]{1,6}$/.exec(headers.get('retry-after') ?? '')?.[0] ??
    /suspended for ([0-9]{1,6})\s*s/i.exec(text)?.[1];
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
    remedy: 'look whether APP_TRON_URL can be reached from here; it is asked again',
  },
  bad_answer: {
    code: BAD_ANSWER,
    remedy: "look whether APP_TRON_URL is a provider of TronGrid's interface; it is asked again",
  },
};

function faultOf(route: string, { outcome, what, cause }: Failure): Fault {
  const { code, remedy } = MEANINGS[outcome];
  const message = `TRON's provider did not serve ${route}: ${what}; ${remedy}`;
  return new Fault(code, message, { retry: true, ...(cause === undefined ? {} : { cause }) });
}
