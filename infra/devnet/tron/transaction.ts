/** What a transaction on TRON asks for and what it leaves behind. Addresses are 40 lower-case hex digits, without the prefix 41. */
import { id } from 'ethers';
import { parseTronAddress } from '../../../schemas/tron-address.ts';

export const LOG_EVENTS = ['Transfer', 'Approval'] as const;
export const ASSETS = ['TRC20', 'TRX', 'TRC10'] as const;
export const OUTCOMES = ['SUCCESS', 'REVERT', 'OUT_OF_ENERGY'] as const;

export type LogEvent = (typeof LOG_EVENTS)[number];
export type Asset = (typeof ASSETS)[number];
export type Outcome = (typeof OUTCOMES)[number];

/** One event of a TRC-20 contract: a Transfer, or an Approval of the owner `from` for the spender `to`. */
export interface TokenLog {
  readonly contract: string;
  readonly event: LogEvent;
  readonly from: string;
  readonly to: string;
  readonly value: bigint;
}

interface Made {
  /** 64 hex digits */
  readonly id: string;
  /** who signed it */
  readonly from: string;
}

/** A call of a contract. `logs` is what it emits if it succeeds; of one that fails they are what it was meant to do, and leave nothing. */
export interface ContractCall extends Made {
  readonly asset: 'TRC20';
  /** the contract that is called; not always the one that emits the logs */
  readonly contract: string;
  readonly calldata: string;
  readonly outcome: Outcome;
  readonly logs: readonly TokenLog[];
  /** whether the provider's list of an account names these logs */
  readonly listed: boolean;
}

/** A payment in TRX (value in sun) or in a TRC-10 token, which the list of TRC-20 transfers never shows. */
export interface NativePayment extends Made {
  readonly asset: 'TRX' | 'TRC10';
  readonly to: string;
  readonly value: bigint;
}

export type TronTransaction = ContractCall | NativePayment;

/** The logs that the network recorded. */
export function emittedLogs(transaction: TronTransaction): readonly TokenLog[] {
  return transaction.asset === 'TRC20' && transaction.outcome === 'SUCCESS' ? transaction.logs : [];
}

/** The logs that the provider's list shows: not always those that happened. */
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

/** Calldata of the transfer or the approval; hex without 0x. */
export function calldataOf({ event, to, value }: TokenLog): string {
  return `${SELECTORS[event]}${wordOf(to)}${wordOf(value.toString(16))}`;
}

/** 32 bytes as hex. */
export function wordOf(digits: string): string {
  return digits.padStart(64, '0');
}

/** The 40 digits of an address in base58check or in hex with its prefix 41; anything else is undefined. */
export function addressDigits(text: string): string | undefined {
  return parseTronAddress(text)?.toString('hex');
}
