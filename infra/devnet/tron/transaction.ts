/** TRON transactions, logs and events. Addresses: 40 lower-case hex digits, without prefix 41. */
import { id } from 'ethers';
import { parseTronAddress } from '../../../schemas/tron-address.ts';

export const LOG_EVENTS = ['Transfer', 'Approval'] as const;
export const ASSETS = ['TRC20', 'TRX', 'TRC10'] as const;
export const OUTCOMES = ['SUCCESS', 'REVERT', 'OUT_OF_ENERGY'] as const;

export type LogEvent = (typeof LOG_EVENTS)[number];
export type Outcome = (typeof OUTCOMES)[number];

/** A TRC-20 event: a Transfer, or an Approval by the owner `from` for the spender `to`. */
export interface TokenLog {
  readonly contract: string;
  readonly event: LogEvent;
  readonly from: string;
  readonly to: string;
  readonly value: bigint;
}

interface Signed {
  /** 64 hex digits */
  readonly id: string;
  /** the signer */
  readonly from: string;
}

/** A contract call. `logs` are emitted only if it succeeds. */
export interface ContractCall extends Signed {
  readonly asset: 'TRC20';
  /** the called contract, which may differ from the one that emits the logs */
  readonly contract: string;
  readonly calldata: string;
  readonly outcome: Outcome;
  readonly logs: readonly TokenLog[];
  /** whether the provider lists these logs */
  readonly listed: boolean;
}

/** A payment in TRX (value in sun) or a TRC-10 token; never in the list of TRC-20 transfers. */
export interface NativePayment extends Signed {
  readonly asset: 'TRX' | 'TRC10';
  readonly to: string;
  readonly value: bigint;
}

export type TronTransaction = ContractCall | NativePayment;

/** The owner of the USDT contract sets them. */
export interface TokenRules {
  readonly paused: boolean;
  readonly deprecated: boolean;
  /** of each transfer, in hundredths of a percent */
  readonly fee_basis_points: number;
  /** base units */
  readonly maximum_fee: bigint;
  /** 40 hex digits each */
  readonly blocked: readonly string[];
}

/** On disk each event is a line of JSON with amounts as decimal text. */
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
  | { readonly type: 'dropped'; readonly id: string }
  /** from then on, for the head and the solidified block alike */
  | { readonly type: 'token'; readonly rules: TokenRules };

export function encodeEvent(event: TronEvent): string {
  return JSON.stringify(event, (_key, value: unknown) =>
    typeof value === 'bigint' ? String(value) : value,
  );
}

const AMOUNTS: ReadonlySet<string> = new Set(['value', 'supply', 'maximum_fee']);

/** The inverse of `encodeEvent`; the log has checked the line's checksum. */
export function decodeEvent(line: string): TronEvent {
  return JSON.parse(line, (key, value) => (AMOUNTS.has(key) ? BigInt(value) : value));
}

/** The logs that the network recorded: none for a failed call. */
export function emittedLogs(transaction: TronTransaction): readonly TokenLog[] {
  return transaction.asset === 'TRC20' && transaction.outcome === 'SUCCESS' ? transaction.logs : [];
}

/** The logs that the provider lists, which may differ from the emitted ones. */
export function listedLogs(transaction: TronTransaction): readonly TokenLog[] {
  return transaction.asset === 'TRC20' && transaction.listed ? transaction.logs : [];
}

export const TOPICS: Readonly<Record<LogEvent, string>> = {
  Transfer: id('Transfer(address,address,uint256)').slice(2),
  Approval: id('Approval(address,address,uint256)').slice(2),
};

const SELECTORS: Readonly<Record<LogEvent, string>> = {
  Transfer: id('transfer(address,uint256)').slice(2, 10),
  Approval: id('approve(address,uint256)').slice(2, 10),
};

/** Calldata of a transfer or an approval; hex without 0x. */
export function calldataOf({ event, to, value }: TokenLog): string {
  return `${SELECTORS[event]}${wordOf(to)}${wordOf(value.toString(16))}`;
}

/** 32 bytes as hex. */
export function wordOf(digits: string): string {
  return digits.padStart(64, '0');
}

/** The digits of an address in base58check or 41 + hex; undefined for other text. */
export function addressDigits(text: string): string | undefined {
  return parseTronAddress(text)?.toString('hex');
}
