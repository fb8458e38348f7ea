/** The running network: takes transactions, makes blocks, solidifies them, and keeps everything on disk before anybody is told of it. */
import fs from 'node:fs';
import path from 'node:path';
import { sha256, toUtf8Bytes } from 'ethers';
import { keyOf } from '../clt/keys.ts';
import { USDT_CONTRACTS } from '../../../schemas/deposit-policy.ts';
import { BlockLog, DamagedLog } from '../store/block-log.ts';
import type { BlockReference, Entry } from './chain.ts';
import { TronChain } from './chain.ts';
import type { TronEvent } from './events.ts';
import { decodeEvent, encodeEvent } from './events.ts';
import type { ContractCall, NativePayment, TokenLog } from './transaction.ts';
import { addressDigits, emittedLogs } from './transaction.ts';

export interface TronSettings {
  readonly seed: string;
  readonly is_testnet: boolean;
  /** how old a block is when the next one solidifies it */
  readonly solidify_ms: number;
}

/** A transaction that has no id yet, and when it shall be solid: with the next blocks, at once, or only when somebody says so. */
export interface Submission {
  readonly transaction: Omit<ContractCall, 'id'> | Omit<NativePayment, 'id'>;
  readonly solidified: 'soon' | 'now' | 'on_demand';
}

export interface TronRefusal {
  readonly refused: 'not_found' | 'already_solidified' | 'dropped' | 'insufficient_balance';
  readonly message: string;
}

/** 50 billion USDT, more than 2^53 base units. */
const SUPPLY = 50_000_000_000n * 1_000_000n;

export class TronNetwork {
  readonly chain: TronChain;
  /** called by transactions that pay several at once */
  readonly multisender: string;
  readonly #settings: TronSettings;
  readonly #log: BlockLog;
  readonly #broken: (error: unknown) => void;
  #closed = false;

  /** Opens the network of the directory, or begins one there. `broken` hears when it can no longer be kept. Throws `DamagedLog`. */
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
    this.multisender = digitsOf(settings.seed, 'tron-multisender');
    this.chain = this.#replay() ?? this.#begin(now);
  }

  /** Takes transactions, all or none; they wait for the next block. Their ids in the same order. */
  submit(submissions: readonly Submission[]): readonly string[] | TronRefusal {
    const made = submissions.map(({ transaction }, index) => ({
      ...transaction,
      id: this.#idOf(this.chain.size + index),
    }));
    const wanted = sumOf(made.flatMap(emittedLogs), this.chain.genesis.usdt_contract);
    const { spendable } = this.chain;
    if (wanted > spendable) {
      return {
        refused: 'insufficient_balance',
        message: `there are ${spendable} base units of USDT left to pay with, ${wanted} are wanted`,
      };
    }
    this.#record(
      made.map((transaction, index) => ({
        type: 'submitted',
        transaction,
        held: submissions[index]?.solidified === 'on_demand',
      })),
    );
    return made.map(({ id }) => id);
  }

  /** Makes the next block of all that waits or is held. `now` in Unix milliseconds. */
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

  /** Solidifies the block of a transaction, in a new one if it has none that stays; without an id all blocks, with all that waits or is held. */
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

  /** Takes a transaction that is not solid out of the chain. Dropped before is dropped. */
  drop(id: string): TronRefusal | undefined {
    const entry = this.#find(id);
    if ('refused' in entry) return entry.refused === 'dropped' ? undefined : entry;
    this.#record([{ type: 'dropped', id }]);
    return undefined;
  }

  /** Resolves when all is on the disk. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#log.flush();
    this.#log.close();
  }

  /** Held ones are released only when a new block has them: in an old one they would be solid behind what is solid already. */
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
    if (entry === undefined)
      return { refused: 'not_found', message: 'there is no such transaction' };
    if (entry.status === 'solidified')
      return {
        refused: 'already_solidified',
        message: 'the transaction is solidified: that never changes',
      };
    if (entry.status === 'dropped')
      return { refused: 'dropped', message: 'the transaction was dropped' };
    return entry;
  }

  #record(events: readonly TronEvent[]): void {
    if (this.#closed) throw new Error('something happened after the network closed');
    if (events.length === 0) return;
    this.#log.append(events.map(encodeEvent));
    this.#log.flush().catch(this.#broken);
    for (const event of events) this.chain.apply(event);
  }

  #replay(): TronChain | undefined {
    let chain: TronChain | undefined;
    for (const { lines } of this.#log.records(0)) {
      for (const { text, place } of lines) {
        const event = decodeEvent(text);
        if (chain !== undefined) chain.apply(event);
        else if (event.type === 'genesis') chain = new TronChain(event);
        else
          throw new DamagedLog(this.#log.path, place.offset, 'it does not begin with the genesis');
      }
    }
    return chain;
  }

  #begin(timestamp: number): TronChain {
    const usdt_contract = addressDigits(
      USDT_CONTRACTS[this.#settings.is_testnet ? 'testnet' : 'mainnet'],
    );
    if (usdt_contract === undefined) throw new Error('the USDT contract has no address');
    const holder = digitsOf(this.#settings.seed, 'tron-holder');
    const genesis = { type: 'genesis', timestamp, usdt_contract, holder, supply: SUPPLY } as const;
    this.#log.append([encodeEvent(genesis)]);
    this.#log.sync();
    return new TronChain(genesis);
  }

  /** Other in every network, also in one that is begun anew from the same seed. */
  #idOf(ordinal: number): string {
    return sha256(
      toUtf8Bytes(`tron:${this.#settings.seed}:${this.chain.genesis.timestamp}:${ordinal}`),
    ).slice(2);
  }
}

function digitsOf(seed: string, name: string): string {
  return keyOf(seed, name).address.slice(2);
}

function sumOf(logs: readonly TokenLog[], usdt_contract: string): bigint {
  return logs.reduce(
    (sum, { contract, event, value }) =>
      contract === usdt_contract && event === 'Transfer' ? sum + value : sum,
    0n,
  );
}
