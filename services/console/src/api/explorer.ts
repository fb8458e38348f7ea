/**
 * The explorer's interface, as its OpenAPI document describes it. Amounts are asked for as text,
 * since JSON numbers end at 2^53.
 */
import { send } from './service.ts';

/** Base units as decimal digits. */
type Amount = string;

export interface Block {
  readonly height: number;
  readonly hash: string;
  readonly tx_count: number;
  readonly producer: string;
  readonly reward_recipient: string;
  readonly block_reward: Amount;
  readonly timestamp: string;
}

export interface BlockDetail extends Block {
  readonly parent_hash: string;
  readonly total_fees: Amount;
}

/** Where the record that appended a block stands in the log. */
export interface BlockRecord {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
}

export interface Transaction {
  readonly hash: string;
  readonly block_height: number;
  readonly from: string;
  readonly to: string;
  readonly amount: Amount;
  readonly fee: Amount;
  readonly status: string;
  readonly function_call_type: string;
  readonly is_ride_related: boolean;
  readonly timestamp: string;
  readonly referrer: string | null;
  readonly request_referrer_fee: Amount;
  readonly offer_referrer_fee: Amount;
}

export interface TransactionDetail extends Transaction {
  readonly nonce: number;
  readonly tx_index: number;
  readonly request_referrer: string | null;
  readonly offer_referrer: string | null;
}

export interface Account {
  readonly address: string;
  readonly balance: Amount;
  readonly nonce: number;
  readonly tx_count: number;
  readonly activity_count: number;
  readonly is_contract: boolean;
}

export interface Activity {
  readonly kind: string;
  readonly label: string;
  readonly delta: Amount;
  readonly direction: 'credit' | 'debit';
  readonly tx_hash: string | null;
  readonly block_height: number;
  readonly function_call_type: string | null;
  readonly counterparty: string | null;
  readonly timestamp: string;
}

export interface Effect extends Activity {
  readonly address: string;
  /** of the address after the effect */
  readonly balance: Amount;
}

/** After a change in this block. */
export interface Balance {
  readonly block_height: number;
  readonly timestamp: string;
  readonly balance: Amount;
}

export interface Validator {
  readonly address: string;
  readonly is_active: boolean;
  readonly blocks_produced: number;
}

export interface Found {
  readonly kind: 'block' | 'transaction' | 'account';
  readonly identifier: string;
  readonly summary: string;
}

export interface Stats {
  readonly latest_height: number;
  readonly tx_per_second: number;
  readonly total_transactions: number;
  readonly active_validators: number;
  readonly avg_block_time_seconds: number;
}

export interface Status {
  /** of the node; null while it does not answer */
  readonly head: { readonly height: number } | null;
  readonly indexed: { readonly height: number; readonly finalized_height: number | null } | null;
  readonly lag_blocks: number | null;
  readonly projections: readonly {
    readonly projection: string;
    readonly topic: string;
    readonly partition: number;
    readonly next_offset: number;
    /** null while the log does not answer */
    readonly lag_records: number | null;
    readonly loading: boolean;
  }[];
}

export type RunStatus = 'ok' | 'mismatch' | 'over_backed_drift';

export interface ReserveRun {
  readonly run_at: string;
  readonly onchain_supply: Amount;
  readonly genesis_allocation: Amount;
  readonly treasury_minted: Amount;
  readonly ledger_liability: Amount;
  readonly custody_reported: Amount;
  readonly status: RunStatus;
}

/** The position that the treasury publishes now. */
export interface Reserve {
  readonly configured: boolean;
  readonly available: boolean;
  readonly cache_age_seconds: number;
  readonly error?: string;
  readonly last_run: ReserveRun | null;
}

export interface RecordedRun extends ReserveRun {
  readonly run_id: string;
  readonly burned: Amount;
  readonly held: Amount;
  readonly retained_fees: Amount;
  readonly ledger_offset: number;
  readonly block_height: number;
  readonly block_hash: string;
}

export type SeriesBy = 'hour' | 'day';

export interface SeriesItem {
  /** beginning of the hour or day */
  readonly start: string;
  readonly blocks: number;
  readonly transactions: number;
  readonly fees: Amount;
  readonly rides: number;
  readonly fares: Amount;
  readonly active_accounts: number;
  readonly supply: Amount;
  readonly is_final: boolean;
}

/** Newest first; without those that have no block. */
export interface Series {
  readonly by: SeriesBy;
  readonly items: readonly SeriesItem[];
}

export interface ValidatorSeries {
  readonly by: SeriesBy;
  readonly items: readonly {
    readonly start: string;
    /** null: all that have no items of their own */
    readonly address: string | null;
    readonly blocks: number;
  }[];
}

export interface Page<Item> {
  readonly items: readonly Item[];
  /** of the page with older items; undefined: this is the last one */
  readonly older: string | undefined;
}

export type Parameters = Readonly<Record<string, string | number | undefined>>;

export function queryText(parameters: Parameters): string {
  const given = Object.entries(parameters).flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [[name, String(value)]],
  );
  return new URLSearchParams(given).toString();
}

function ask(path: string, parameters: Parameters, signal: AbortSignal): Promise<Response> {
  return send(`/api/v1/${path}?${queryText(parameters)}`, { signal });
}

const AMOUNTS: Parameters = { amounts: 'string' };

/** Throws a `ServiceError`. */
export async function one<Item>(
  path: string,
  signal: AbortSignal,
  parameters: Parameters = AMOUNTS,
): Promise<Item> {
  const response = await ask(path, parameters, signal);
  const item: Item = await response.json();
  return item;
}

/** Throws a `ServiceError`. */
export async function page<Item>(
  path: string,
  signal: AbortSignal,
  parameters: Parameters,
): Promise<Page<Item>> {
  const response = await ask(path, { ...AMOUNTS, ...parameters }, signal);
  const { items }: { readonly items: readonly Item[] } = await response.json();
  return { items, older: olderOf(response.headers.get('link')) };
}

/** The cursor in `Link: </api/v1/..?cursor=..>; rel="next"`. */
export function olderOf(link: string | null): string | undefined {
  const target = /<([^>]*)>;\s*rel="?next"?/.exec(link ?? '')?.[1];
  if (target === undefined) return undefined;
  return new URLSearchParams(target.slice(target.indexOf('?'))).get('cursor') ?? undefined;
}
