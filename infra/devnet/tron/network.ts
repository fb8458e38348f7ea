/** The running TRON network. Every event is on disk before it is visible. */
import fs from 'node:fs';
import path from 'node:path';
import { sha256, toUtf8Bytes } from 'ethers';
import { refused, type Refused } from '../clt/calls.ts';
import type { GenesisSettings } from '../clt/genesis.ts';
import { deriveKey } from '../clt/keys.ts';
import { USDT_CONTRACTS } from '../../../schemas/deposit-policy.ts';
import { BlockLog } from '../store/block-log.ts';
import { TronChain, type BlockReference, type Entry } from './chain.ts';
import { carriedOut } from './token.ts';
import {
  addressDigits,
  decodeEvent,
  emittedLogs,
  encodeEvent,
  type ContractCall,
  type NativePayment,
  type TokenRules,
  type TronEvent,
} from './transaction.ts';

interface TronSettings extends Pick<GenesisSettings, 'seed' | 'is_testnet'> {
  /** the age at which the next block solidifies a block */
  readonly solidify_ms: number;
}

/** A transaction without its id, and when it solidifies: soon, at once, or on demand. */
export interface Submission {
  readonly transaction: Omit<ContractCall, 'id'> | Omit<NativePayment, 'id'>;
  readonly solidified: 'soon' | 'now' | 'on_demand';
}

export type TronRefusal = Refused<
  'not_found' | 'already_solidified' | 'dropped' | 'insufficient_balance'
>;

/** 50 billion USDT, more than 2^53 base units. */
const SUPPLY = 50_000_000_000n * 1_000_000n;

export class TronNetwork {
  readonly chain: TronChain;
  /** the contract that transactions with several logs call */
  readonly multisender: string;
  readonly #settings: TronSettings;
  readonly #log: BlockLog;
  readonly #broken: (error: unknown) => void;
  #closed = false;

  /** Opens the directory's network or begins one. `broken`: it can no longer be stored. */
  constructor(
    directory: string,
    settings: TronSettings,
    now: number,
    broken: (error: unknown) => void,
  ) {
    fs.mkdirSync(directory, { recursive: true });
    this.#settings = settings;
    this.#broken = broken;
    this.#log = new BlockLog(path.join(directory, 'tron.log'));
    this.multisender = deriveAddress(settings.seed, 'tron-multisender');
    this.chain = this.#replay() ?? this.#begin(now);
  }

  /** Accepts all transactions, or none, for the next block. Returns their ids in order. */
  submit(submissions: readonly Submission[]): readonly string[] | TronRefusal {
    const { genesis, token } = this.chain;
    const { usdt_contract } = genesis;
    const made = submissions.map(({ transaction }, index) => ({
      ...carriedOut(transaction, token, genesis),
      id: this.#newId(this.chain.size + index),
    }));
    const wanted = made
      .flatMap(emittedLogs)
      .filter(({ contract, event }) => contract === usdt_contract && event === 'Transfer')
      .reduce((sum, { value }) => sum + value, 0n);
    const { spendable } = this.chain;
    if (wanted > spendable)
      return refused(
        'insufficient_balance',
        `the holder has ${spendable} base units of USDT left, ${wanted} are needed`,
      );
    this.#record(
      made.map((transaction, index) => ({
        type: 'submitted',
        transaction,
        held: submissions[index]?.solidified === 'on_demand',
      })),
    );
    return made.map(({ id }) => id);
  }

  /** Makes the next block of waiting and held transactions. `now` in Unix milliseconds. */
  produce(now: number): BlockReference {
    const { head } = this.chain;
    const timestamp = Math.max(now, head.timestamp + 1);
    const transactions = this.chain.open
      .filter(({ block, held }) => block === undefined || held)
      .map(({ transaction }) => transaction.id);
    const solidified = this.chain.solidifiableAt(timestamp, this.#settings.solidify_ms).number;
    this.#record([{ type: 'block', number: head.number + 1, timestamp, solidified, transactions }]);
    return this.chain.head;
  }

  /** Solidifies the block of one transaction, or everything when `id` is undefined. */
  solidify(id: string | undefined, now: number): BlockReference | TronRefusal {
    if (id === undefined) {
      const block = this.produce(now);
      const held = this.chain.open
        .filter((entry) => entry.held)
        .map(({ transaction }) => transaction.id);
      return this.#solidifyBlock(block, held);
    }
    const entry = this.#find(id);
    if ('refused' in entry)
      return entry.refused === 'already_solidified' ? this.chain.solidified : entry;
    if (entry.held) return this.#solidifyBlock(this.produce(now), [id]);
    return this.#solidifyBlock(entry.block ?? this.produce(now), []);
  }

  /** Removes a transaction that is not solid. Idempotent. */
  drop(id: string): TronRefusal | undefined {
    const entry = this.#find(id);
    if ('refused' in entry) return entry.refused === 'dropped' ? undefined : entry;
    this.#record([{ type: 'dropped', id }]);
    return undefined;
  }

  /** Changes what the USDT contract allows, for transactions submitted from then on. */
  setToken(change: Partial<TokenRules>): TokenRules {
    this.#record([{ type: 'token', rules: { ...this.chain.token, ...change } }]);
    return this.chain.token;
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#log.flush();
    this.#log.close();
  }

  /** Releases held transactions, which must be in this new block: older blocks may be solid. */
  #solidifyBlock(block: BlockReference, held: readonly string[]): BlockReference {
    const released = held.map((id): TronEvent => ({ type: 'released', id }));
    this.#record([
      ...released,
      { type: 'solidified', number: block.number, at: this.chain.head.timestamp },
    ]);
    return this.chain.solidified;
  }

  #find(id: string): Entry | TronRefusal {
    const entry = this.chain.entry(id);
    if (entry === undefined) return refused('not_found', 'there is no such transaction');
    if (entry.status === 'solidified')
      return refused('already_solidified', 'the transaction is solidified and cannot change');
    if (entry.status === 'dropped') return refused('dropped', 'the transaction was dropped');
    return entry;
  }

  #record(events: readonly TronEvent[]): void {
    if (this.#closed) throw new Error('the network is closed');
    if (events.length === 0) return;
    this.#log.append(events.map(encodeEvent));
    this.#log.flush().catch(this.#broken);
    for (const event of events) this.chain.apply(event);
  }

  #replay(): TronChain | undefined {
    let chain: TronChain | undefined;
    for (const { lines } of this.#log.records(0)) {
      for (const { text, range } of lines) {
        const event = decodeEvent(text);
        if (chain !== undefined) chain.apply(event);
        else if (event.type === 'genesis') chain = new TronChain(event);
        else throw this.#log.damaged(range.offset, 'it does not begin with the genesis');
      }
    }
    return chain;
  }

  #begin(timestamp: number): TronChain {
    const usdt_contract = addressDigits(
      USDT_CONTRACTS[this.#settings.is_testnet ? 'testnet' : 'mainnet'],
    );
    if (usdt_contract === undefined)
      throw new Error('the address of the USDT contract is malformed');
    const holder = deriveAddress(this.#settings.seed, 'tron-holder');
    const genesis = { type: 'genesis', timestamp, usdt_contract, holder, supply: SUPPLY } as const;
    this.#log.append([encodeEvent(genesis)]);
    this.#log.sync();
    return new TronChain(genesis);
  }

  /** Differs between networks, also between two with the same seed. */
  #newId(ordinal: number): string {
    return sha256(
      toUtf8Bytes(`tron:${this.#settings.seed}:${this.chain.genesis.timestamp}:${ordinal}`),
    ).slice(2);
  }
}

function deriveAddress(seed: string, name: string): string {
  return deriveKey(seed, name).address.slice(2);
}
