/** The events of the TRON network. On disk each is a line of JSON with amounts as decimal text. */
import type { ContractCall, NativePayment, TokenLog, TronTransaction } from './transaction.ts';

export type TronEvent =
  | {
      readonly type: 'genesis';
      readonly timestamp: number;
      readonly usdt_contract: string;
      /** owns the initial supply */
      readonly holder: string;
      readonly supply: bigint;
    }
  /** waits for a block; a held one moves into each new block and solidifies only once released */
  | { readonly type: 'submitted'; readonly transaction: TronTransaction; readonly held: boolean }
  | {
      readonly type: 'block';
      readonly number: number;
      readonly timestamp: number;
      /** number of the newest block that is solidified with this one */
      readonly solidified: number;
      /** ids in block order */
      readonly transactions: readonly string[];
    }
  | { readonly type: 'released'; readonly id: string }
  | { readonly type: 'solidified'; readonly number: number; readonly at: number }
  | { readonly type: 'dropped'; readonly id: string };

type Stored<Row> = {
  readonly [Field in keyof Row]: Row[Field] extends bigint ? string : Row[Field];
};
type StoredTransaction =
  | Stored<NativePayment>
  | (Omit<ContractCall, 'logs'> & { readonly logs: readonly Stored<TokenLog>[] });
type StoredEvent =
  | Stored<Extract<TronEvent, { type: 'genesis' }>>
  | { readonly type: 'submitted'; readonly transaction: StoredTransaction; readonly held: boolean }
  | Exclude<TronEvent, { type: 'genesis' | 'submitted' }>;

export function encodeEvent(event: TronEvent): string {
  return JSON.stringify(event, (_key, value: unknown) =>
    typeof value === 'bigint' ? String(value) : value,
  );
}

/** The inverse of `encodeEvent`; the log has checked the line's checksum. */
export function decodeEvent(line: string): TronEvent {
  const stored: StoredEvent = JSON.parse(line);
  if (stored.type === 'genesis') return { ...stored, supply: BigInt(stored.supply) };
  if (stored.type === 'submitted')
    return { ...stored, transaction: decodeTransaction(stored.transaction) };
  return stored;
}

function decodeTransaction(stored: StoredTransaction): TronTransaction {
  if (stored.asset !== 'TRC20') return { ...stored, value: BigInt(stored.value) };
  return { ...stored, logs: stored.logs.map((log) => ({ ...log, value: BigInt(log.value) })) };
}
