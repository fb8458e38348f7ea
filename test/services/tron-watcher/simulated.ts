/**
 * A watcher over a provider and a read model in memory. Time passes once everything waits, up to
 * the end of the next wait, so hours take milliseconds, and every wait is exact. The provider
 * answers over `fetch`, badly where a rule says so.
 */
import { Queue } from '../../../projections/watch/queue.ts';
import { toTronAddress } from '../../../schemas/tron-address.ts';
import { ADDRESS_WORDS, TOKEN_WORDS } from '../../../schemas/tron-balances.ts';
import type { TransferObserved } from '../../../schemas/tron.transfers/events.ts';
import { messageOf } from '../../../services/runtime/process/errors.ts';
import { retrying } from '../../../services/runtime/process/retry.ts';
import { Backoff } from '../../../services/runtime/trongrid/backoff.ts';
import { TokenBucket } from '../../../services/runtime/trongrid/token-bucket.ts';
import { TronGrid, type Outcome } from '../../../services/runtime/trongrid/trongrid.ts';
import type { Entry } from '../../../services/tron-watcher/read-model.ts';
import { TransferLog } from '../../../services/tron-watcher/transfer-log.ts';
import { Watcher, type WatcherOptions } from '../../../services/tron-watcher/watcher.ts';
import { USDT_CONTRACT } from '../../support/deposit-log.ts';
import { never, silentLog } from '../../support/kafka.ts';
import { addressAt, balancesAsked, noWords, rowOf, wordOf } from './simulated-answers.ts';
import { SimulatedTime } from './simulated-time.ts';

export const NOW = 1_790_000_000_000;
export const SECOND_MS = 1_000;
export const MINUTE_MS = 60 * SECOND_MS;
export const HOUR_MS = 60 * MINUTE_MS;
/** Age of the solidified head. */
const HEAD_AGE_MS = 57 * SECOND_MS;
const ALL = [0, 1, 2, 3, 4, 5];
const TRANSFER = 'ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';

/** How a provider answers badly. */
export const BAD = [
  'malformed',
  'html',
  'error_200',
  'status_403',
  'status_500',
  'status_503',
  'reset',
  'hang',
] as const;
/** Some are of a receipt alone, some of a list alone, and one comes with a pause. */
export type Answer =
  (typeof BAD)[number] | 'none' | 'silent' | 'future' | 'left_out' | 'endless' | 'suspended';

/** Status and body of answers that are the same for every request. */
const TEXTS: Readonly<Record<string, readonly [status: number, text: string]>> = {
  html: [200, '<html>'],
  error_200: [200, '{"Error":"lack of computing resources"}'],
  suspended: [429, '{"Error":"the query server is suspended for 5 s"}'],
  status_403: [403, 'no'],
  status_500: [500, 'no'],
  status_503: [503, 'no'],
};

export interface Asked {
  readonly route: 'head' | 'list' | 'receipt' | 'balance' | 'balances';
  /** base58; of balances the first one */
  readonly address: string;
  /** hex */
  readonly tx_id: string;
  /** Unix milliseconds */
  readonly at: number;
}

export type Rule = (asked: Asked) => Answer | undefined;

interface QueueRow {
  readonly entry: Omit<Entry, 'derivation_index'>;
  readonly paid: boolean;
  readonly due_at: number;
  readonly level: number;
}

interface Paid {
  readonly tx_id: Buffer;
  /** the same amount to each */
  readonly to: readonly Buffer[];
  readonly value: bigint;
  readonly at: number;
}

export class Simulated extends SimulatedTime {
  rule: Rule = () => undefined;
  readonly asked: (Asked & { readonly answer: Answer | undefined })[] = [];
  /** said to be checked, as often as that was said */
  readonly checked: Buffer[] = [];
  readonly outcomes: Outcome[] = [];
  readonly cross_checks: string[] = [];
  readonly faults: string[] = [];
  readonly paid: Paid[] = [];
  /** when each transfer was appended, by its transaction in hex */
  readonly observed = new Map<string, number>();
  readonly addresses: Buffer[] = [];
  readonly watcher: Watcher;
  /** passes, from the beginning of one to the beginning of the next */
  pass_every_ms = 5 * SECOND_MS;
  /** of this watcher */
  partitions: readonly number[] = ALL;
  /** which every answer takes, and which this one does */
  answer_ms = 50;
  slowness: (asked: Omit<Asked, 'at'>) => number = () => this.answer_ms;
  /** by which the node that says balances is behind the others */
  balance_lag_ms = 0;
  /** which the brokers take for a batch */
  append_ms = 0;
  readonly #transfers: TransferObserved[] = [];
  readonly #queue = new Queue([]);
  /** derivation indexes, by address in hex */
  readonly #indexes = new Map<string, number>();
  /** of the queue; undefined: it has changed */
  #rows: readonly QueueRow[] | undefined;
  /** money that has left an address, by address in hex */
  readonly #left = new Map<string, bigint>();
  /** of the request that is made, by its client */
  #timeoutMs = 0;

  constructor(change: Partial<WatcherOptions> & { readonly requests_per_second?: number } = {}) {
    super(NOW);
    const clock = {
      now: () => this.now,
      pause: (ms: number) => this.wait(Math.max(1, ms)),
    };
    const provider = new TronGrid({
      tron_url: 'http://tron.test',
      tron_api_key: '',
      usdt_contract: USDT_CONTRACT,
      bucket: new TokenBucket({
        requests_per_second: change.requests_per_second ?? 10,
        requests_per_day: 0,
        signal: never,
        ...clock,
      }),
      backoff: new Backoff({
        backoff_ms_min: 500,
        backoff_ms_max: MINUTE_MS,
        random: () => 1,
        ...clock,
      }),
      attempts_max: 4,
      single_attempts_max: 1,
      signal: never,
      onRequest: (_route, outcome) => void this.outcomes.push(outcome),
      now: clock.now,
      timeout: (ms) => {
        this.#timeoutMs = ms;
        return never;
      },
    });
    this.watcher = new Watcher({
      provider,
      model: this.#model(),
      transfers: new TransferLog({
        writer: {
          append: async () => {
            if (this.append_ms > 0) await this.wait(this.append_ms);
            return 0n;
          },
        },
        codec: { encode: () => Buffer.alloc(0), fingerprintOf: () => 'none' },
        onAppended: (events) => {
          for (const event of events) {
            if (event.type === 'TransferObserved') this.#observe(event);
            else {
              this.checked.push(...event.checked.map(({ address }) => address));
              for (const partition of ALL) this.#queue.check(event, partition);
            }
          }
          this.#rows = undefined;
        },
      }),
      usdt_contract: USDT_CONTRACT,
      receipts_max: 100,
      pass_addresses_max: 50,
      pass_cold_min: 10,
      cold_every_ms: MINUTE_MS,
      overlap_ms: HOUR_MS,
      cross_check_every: 0,
      cross_check_ms: 30 * 24 * HOUR_MS,
      balance_requests_max: 20,
      retry_ms_min: 500,
      retry_ms_max: 5 * MINUTE_MS,
      unexplained_ms: 10 * MINUTE_MS,
      log: silentLog(),
      signal: never,
      ...clock,
      onStep() {},
      onHeadAge() {},
      onCrossCheck: (outcome) => void this.cross_checks.push(outcome),
      ...change,
    });
  }

  /** Further addresses, requested at this time; hot for a day from then on. */
  request(count: number, at = this.now): readonly Buffer[] {
    const added = Array.from({ length: count }, (_, index) =>
      addressAt(this.addresses.length + index),
    );
    for (const address of added) {
      this.#indexes.set(address.toString('hex'), this.#indexes.size);
      this.addresses.push(address);
      this.#queue.open(address, at);
    }
    this.#rows = undefined;
    return added;
  }

  /** The account of the address looks at its panel. */
  open(address: Buffer): void {
    this.#queue.open(address, this.now);
    this.#rows = undefined;
  }

  /** A transfer that is solid now. */
  pay(to: Buffer | readonly Buffer[], value = 10_000_000n): string {
    const tx_id = Buffer.alloc(32, 0xcc);
    tx_id.writeUInt32BE(this.paid.length);
    this.paid.push({
      tx_id,
      to: Buffer.isBuffer(to) ? [to] : to,
      value,
      at: this.now - HEAD_AGE_MS,
    });
    return tx_id.toString('hex');
  }

  /** The transactions observed, for each of these payees. */
  paidTo(payees: readonly Buffer[]): readonly (readonly string[])[] {
    return payees.map((payee) =>
      this.#transfers
        .filter(({ to }) => to.equals(payee))
        .map(({ tx_id }) => tx_id.toString('hex')),
    );
  }

  /** The provider knows nothing of this transfer any more. */
  forget(txId: string): void {
    const at = this.paid.findIndex(({ tx_id }) => tx_id.toString('hex') === txId);
    this.paid.splice(at, 1);
  }

  /** All money leaves the address. */
  sweep(address: Buffer): void {
    this.#left.set(address.toString('hex'), this.#received(address));
  }

  /** Runs the watcher as its process does, for so long or until all of these are observed. */
  async run(ms: number, until: readonly string[] = ['']): Promise<void> {
    const end = this.now + ms;
    const { fetch } = globalThis;
    const answer = (url: string, init: { readonly body?: string }): Promise<Answered> =>
      this.#answer(new URL(url), init.body ?? '');
    Object.assign(globalThis, { fetch: answer });
    try {
      while (this.now < end && until.some((id) => !this.observed.has(id))) {
        const begun = this.now;
        await this.passing(this.#pass(end));
        await this.passing(this.wait(begun + this.pass_every_ms - this.now));
      }
    } finally {
      Object.assign(globalThis, { fetch });
    }
  }

  async #pass(end: number): Promise<void> {
    for (let pause = 100; this.now < end; pause = Math.min(2_000, pause * 2)) {
      let fault: unknown;
      const log = silentLog();
      await retrying({ what: 'a pass', log, signal: AbortSignal.abort() }, () =>
        this.watcher.pass(this.partitions),
      ).catch((error: unknown) => {
        fault = error;
      });
      if (fault === undefined) return;
      this.faults.push(
        fault instanceof Error && 'code' in fault ? String(fault.code) : messageOf(fault),
      );
      if (this.faults.at(-1)?.startsWith('tron_') !== true) throw fault;
      await this.wait(pause);
    }
  }

  #observe(event: TransferObserved): void {
    const id = event.tx_id.toString('hex');
    if (this.#transfers.some(({ tx_id, to }) => tx_id.equals(event.tx_id) && to.equals(event.to)))
      throw new Error(`${id} was appended twice`);
    this.#transfers.push(event);
    this.observed.set(id, this.now);
    this.#queue.pay(event.to);
  }

  #model(): WatcherOptions['model'] {
    const rows = (): readonly QueueRow[] =>
      (this.#rows ??= this.#queue.changedRows().map(rowOfQueue));
    const withIndex = (entry: QueueRow['entry']): Entry => ({
      ...entry,
      derivation_index: this.#indexes.get(entry.address.toString('hex')) ?? -1,
    });
    const entries = (): Entry[] => rows().map(({ entry }) => withIndex(entry));
    return {
      hot: async (_partitions, limit, at) =>
        rows()
          .filter(({ entry, due_at: dueAt }) => entry.hot && dueAt <= at)
          .toSorted(
            (one, other) =>
              Number(other.paid) - Number(one.paid) ||
              one.level - other.level ||
              other.due_at - one.due_at,
          )
          .slice(0, limit)
          .map(({ entry }) => withIndex(entry)),
      inTurn: async (_partitions, limit) =>
        entries()
          .toSorted((one, other) => one.turn_at - other.turn_at)
          .slice(0, limit),
      longestDue: async () => {
        const due = Map.groupBy(
          rows().filter(({ entry }) => entry.hot),
          ({ paid }) => paid,
        );
        return { paid: earliestOf(due.get(true)), unpaid: earliestOf(due.get(false)) };
      },
      receivedAfter: async (_partitions, after, limit) =>
        entries()
          .filter(({ address }) => Buffer.compare(address, after) > 0)
          .toSorted((one, other) => Buffer.compare(one.address, other.address))
          .slice(0, limit)
          .map((entry) => ({ entry, observed: this.#logged(entry.address) })),
      entries: async (addresses) =>
        entries().filter(({ address }) => addresses.some((each) => each.equals(address))),
      seen: async (address, ids) =>
        new Map(
          this.#transfers
            .filter(({ to, tx_id }) => to.equals(address) && ids.some((id) => id.equals(tx_id)))
            .map(({ tx_id, log_index }) => [tx_id.toString('hex'), new Set([log_index])]),
        ),
      watched: async (addresses) =>
        new Map(
          addresses.flatMap((address) => {
            const hex = address.toString('hex');
            const index = this.#indexes.get(hex);
            return index === undefined ? [] : [[hex, index] as const];
          }),
        ),
      observed: async (address) => this.#logged(address),
      folded: async () => new Map(ALL.map((partition) => [partition, 1_000_000n])),
    };
  }

  #logged(address: Buffer): bigint {
    return this.#transfers
      .filter(({ to }) => to.equals(address))
      .reduce((sum, { value }) => sum + value, 0n);
  }

  #received(address: Buffer): bigint {
    return this.#paidTo(address).reduce((sum, { value }) => sum + value, 0n);
  }

  #balance(address: Buffer): bigint {
    const received = this.#paidTo(address)
      .filter(({ at }) => at <= this.now - HEAD_AGE_MS - this.balance_lag_ms)
      .reduce((sum, { value }) => sum + value, 0n);
    return received - (this.#left.get(address.toString('hex')) ?? 0n);
  }

  #paidTo(address: Buffer): readonly Paid[] {
    return this.paid.filter(({ to }) => to.some((each) => each.equals(address)));
  }

  async #answer(url: URL, body: string): Promise<Answered> {
    const timeoutMs = this.#timeoutMs;
    const read = this.#read(url, body);
    const takes = Math.min(this.slowness(read), timeoutMs);
    await this.wait(takes);
    const asked = { ...read, at: this.now };
    const answer = this.rule(asked);
    this.asked.push({ ...asked, answer });
    if (answer === 'reset')
      throw new TypeError('fetch failed', {
        cause: Object.assign(new Error(), { code: 'ECONNRESET' }),
      });
    if (answer === 'hang' || takes >= timeoutMs) {
      await this.wait(timeoutMs - takes);
      throw new DOMException('The operation was aborted due to timeout', 'TimeoutError');
    }
    const text = TEXTS[answer ?? ''];
    const [status, said] = text ?? [200, JSON.stringify(this.#said(asked, url, body, answer))];
    return { status, headers: NO_HEADERS, body: [Buffer.from(said)] };
  }

  #read(url: URL, body: string): Omit<Asked, 'at'> {
    const nobody = { address: '', tx_id: '' };
    const list = /^\/v1\/accounts\/(\w+)\//.exec(url.pathname)?.[1];
    if (list !== undefined) return { ...nobody, route: 'list', address: list };
    const sent: Readonly<Record<string, string>> = JSON.parse(body);
    if (url.pathname.endsWith('getnowblock')) return { ...nobody, route: 'head' };
    if (url.pathname.endsWith('gettransactioninfobyid')) {
      const tx_id = sent['value'] ?? '';
      const to = this.paid.find((each) => each.tx_id.toString('hex') === tx_id)?.to[0] ?? ZERO;
      return { route: 'receipt', tx_id, address: toTronAddress(to) };
    }
    const addresses = balancesAsked(sent);
    const route = sent['data'] === undefined ? 'balance' : 'balances';
    return { ...nobody, route, address: toTronAddress(addresses[0] ?? ZERO) };
  }

  #said(asked: Asked, url: URL, body: string, answer: Answer | undefined): unknown {
    const isMalformed = answer === 'malformed';
    if (asked.route === 'head')
      return isMalformed
        ? {}
        : { block_header: { raw_data: { number: 1, timestamp: this.now - HEAD_AGE_MS } } };
    if (asked.route === 'list') return this.#list(asked, url, answer);
    if (asked.route === 'receipt') return answer === 'none' ? {} : this.#receipt(asked, answer);
    if (isMalformed) return {};
    const addresses = balancesAsked(JSON.parse(body));
    const isOne = asked.route === 'balance';
    const words = isOne ? [] : noWords(TOKEN_WORDS);
    for (const address of addresses) {
      words.push(this.#balance(address));
      if (!isOne) words.push(...noWords(ADDRESS_WORDS - 1));
    }
    const constant_result = [words.map((word) => word.toString(16).padStart(64, '0')).join('')];
    return { result: { result: true }, constant_result };
  }

  #list({ address }: Asked, url: URL, answer: Answer | undefined): unknown {
    if (answer === 'malformed') return { data: [{}], success: true, meta: {} };
    const from = Number(url.searchParams.get('min_timestamp'));
    const data = this.paid
      .filter(({ to, at }) => to.some((each) => toTronAddress(each) === address) && at >= from)
      .filter(() => answer !== 'left_out')
      .map(({ tx_id, at }) => rowOf(tx_id, at));
    if (answer !== 'endless') return { data, success: true, meta: { at: this.now } };
    const fingerprint = `page ${this.asked.length}`;
    const row = {
      ...rowOf(Buffer.alloc(32), this.now - HOUR_MS),
      token_info: { address: toTronAddress(ZERO) },
    };
    return { data: [row], success: true, meta: { at: this.now, fingerprint } };
  }

  #receipt({ tx_id: id }: Asked, answer: Answer | undefined): unknown {
    const paid = this.paid.find(({ tx_id }) => tx_id.toString('hex') === id);
    if (paid === undefined) return {};
    const { to, value, at } = paid;
    const log = to.map((each) => ({
      address: USDT_CONTRACT.toString('hex'),
      topics: [TRANSFER, wordOf(Buffer.alloc(20, 0xee)), wordOf(each)],
      data: value.toString(16).padStart(64, '0'),
    }));
    return {
      id,
      blockNumber: 1,
      ...(answer === 'malformed'
        ? {}
        : { blockTimeStamp: answer === 'future' ? this.now + HOUR_MS : at }),
      receipt: { result: 'SUCCESS' },
      ...(answer === 'silent' ? {} : { log }),
    };
  }
}

/** The parts of a response that the client reads. */
interface Answered extends Pick<Response, 'status' | 'headers'> {
  readonly body: readonly Buffer[];
}

const NO_HEADERS = new Headers();
const ZERO = Buffer.alloc(20);

function earliestOf(rows: readonly QueueRow[] = []): number | undefined {
  return rows.length === 0 ? undefined : Math.min(...rows.map(({ due_at }) => due_at));
}

function rowOfQueue(row: ReturnType<Queue['changedRows']>[number]): QueueRow {
  const [address, partition, , hot, paid, , , checked_at, checked_until, turn_at, due, level] = row;
  if (!Buffer.isBuffer(address)) throw new Error('an address is bytes');
  const entry = {
    address,
    partition: Number(partition),
    hot: hot === true,
    checked_at: Number(checked_at),
    checked_until: Number(checked_until),
    turn_at: Number(turn_at),
  };
  return { entry, paid: paid === true, due_at: Number(due), level: Number(level) };
}
