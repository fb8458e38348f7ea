/** The expected rows of the explorer's tables for a plain list of blocks. */
import type { PlainBlock, PlainEffect, PlainTransaction } from './plain-block.ts';

type Row = Readonly<Record<string, boolean | number | string | null>>;

interface Account {
  balance: bigint;
  nonce: number;
  transactions: number;
  activities: number;
  unsigned_debits: number;
  blocks_produced: number;
}

/** Rows by table, as `json_populate_recordset` takes them. */
export function rowsOf(blocks: readonly PlainBlock[]): Readonly<Record<string, readonly Row[]>> {
  const rows = new Rows();
  for (const block of blocks) rows.add(block);
  const newest = blocks.at(-1);
  const head = newest && {
    one: true,
    sequence: blocks.length,
    height: newest.height,
    hash: bytea(newest.hash),
    finalized_height: -1,
    transactions: rows.transactions.length,
    validators: rows.validators.length,
  };
  return {
    head: head === undefined ? [] : [head],
    blocks: rows.blocks,
    transactions: rows.transactions,
    transaction_types: [...rows.types].map(([type, count]) => ({
      function_call_type: type,
      transactions: count,
    })),
    accounts: [...rows.accounts].map(accountRow),
    account_transactions: rows.account_transactions,
    activity: rows.activity,
    validators: rows.validators,
  };
}

function accountRow([address, { balance, ...counts }]: readonly [string, Account]): Row {
  return { address: `\\x${address}`, balance: String(balance), ...counts };
}

class Rows {
  readonly blocks: Row[] = [];
  readonly transactions: Row[] = [];
  readonly account_transactions: Row[] = [];
  readonly activity: Row[] = [];
  readonly validators: Row[] = [];
  readonly types = new Map<string, number>();
  readonly accounts = new Map<string, Account>();

  add({
    transactions,
    effects,
    block_reward: blockReward,
    total_fees: totalFees,
    ...block
  }: PlainBlock): void {
    const first = this.transactions.length;
    this.blocks.push({
      ...block,
      hash: bytea(block.hash),
      parent_hash: bytea(block.parent_hash),
      producer: bytea(block.producer),
      reward_recipient: bytea(block.reward_recipient),
      block_reward: String(blockReward),
      total_fees: String(totalFees),
      timestamp: iso(block.timestamp),
      tx_count: transactions.length,
      first_seq: first,
      log_offset: this.blocks.length + 1,
    });
    if (this.#account(block.producer).blocks_produced++ === 0) {
      this.validators.push({ ordinal: this.validators.length, address: bytea(block.producer) });
    }
    for (const transaction of transactions) this.#addTransaction(transaction);
    for (const effect of effects) {
      if (effect.delta !== 0n)
        this.#addEffect(
          effect,
          effect.tx_index === null ? undefined : transactions[effect.tx_index],
          block.height,
          first,
        );
    }
  }

  #addTransaction(transaction: PlainTransaction): void {
    const {
      from,
      to,
      type,
      amount,
      fee,
      hash,
      referrer,
      request_referrer,
      offer_referrer,
      ...rest
    } = transaction;
    const seq = this.transactions.length;
    const ordinal = this.types.get(type) ?? 0;
    this.types.set(type, ordinal + 1);
    this.transactions.push({
      ...rest,
      seq,
      hash: bytea(hash),
      from_address: bytea(from),
      to_address: bytea(to),
      amount: String(amount),
      fee: String(fee),
      function_call_type: type,
      type_ordinal: ordinal,
      is_ride_related: type.startsWith('Ride'),
      timestamp: iso(rest.timestamp),
      referrer: bytea(referrer),
      request_referrer: bytea(request_referrer),
      offer_referrer: bytea(offer_referrer),
      request_referrer_fee: String(rest.request_referrer_fee),
      offer_referrer_fee: String(rest.offer_referrer_fee),
    });
    this.#account(from).nonce = rest.nonce + 1;
    for (const address of from.equals(to) ? [from] : [from, to]) {
      this.account_transactions.push({
        address: bytea(address),
        ordinal: this.#account(address).transactions++,
        seq,
      });
    }
  }

  #addEffect(
    { address, kind, delta, counterparty }: PlainEffect,
    cause: PlainTransaction | undefined,
    height: number,
    first: number,
  ): void {
    const account = this.#account(address);
    account.balance += delta;
    if (delta < 0n && cause?.from.equals(address) !== true) account.unsigned_debits++;
    this.activity.push({
      address: bytea(address),
      ordinal: account.activities++,
      kind,
      delta: String(delta),
      balance: String(account.balance),
      block_height: height,
      seq: cause === undefined ? null : first + cause.tx_index,
      counterparty: bytea(counterparty),
    });
  }

  #account(address: Buffer): Account {
    const key = address.toString('hex');
    const none = {
      balance: 0n,
      nonce: 0,
      transactions: 0,
      activities: 0,
      unsigned_debits: 0,
      blocks_produced: 0,
    };
    const account = this.accounts.get(key) ?? none;
    this.accounts.set(key, account);
    return account;
  }
}

function bytea(bytes: Buffer): string;
function bytea(bytes: Buffer | null): string | null;
function bytea(bytes: Buffer | null): string | null {
  return bytes === null ? null : `\\x${bytes.toString('hex')}`;
}

function iso(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}
