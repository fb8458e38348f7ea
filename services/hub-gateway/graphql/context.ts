/** The context of resolvers: their sources, the caller, and what they report of an operation. */
import type { ExecutionResult } from 'graphql';
import { balancesOf } from '../../../projections/explorer/queries/accounts.ts';
import { toHex } from '../../../schemas/address.ts';
import type { ChainNode } from '../../runtime/clt-node.ts';
import { byteaHex } from '../../runtime/postgres/cells.ts';
import type { Reader } from '../../runtime/postgres/pool.ts';
import type { Caller, SignIns } from './authentication.ts';
import type { ChainParameters } from './chain-parameters.ts';

/** Shared by all operations of the process. */
export interface Hub {
  readonly reader: Reader;
  readonly chain: Pick<ChainParameters, 'info'>;
  readonly node: Pick<ChainNode, 'nextNonce' | 'submit'>;
  readonly balances: Balances;
  readonly sign_ins: SignIns;
  readonly chain_id: number;
  /** 0x + hex; null: none */
  readonly request_referrer: string | null;
  readonly offer_referrer: string | null;
  /** for lists without a limit argument */
  readonly list_rows_max: number;
}

/** The context of one operation. */
export interface HubContext {
  readonly hub: Hub;
  /** undefined: anonymous */
  readonly caller: Caller | undefined;
  readonly truncation: Truncation;
  /** called in subscriptions, with a read model that the result is made from */
  readonly dependsOn?: (dependency: Dependency) => void;
}

export type Model = 'market' | 'accounts';

/** The changes after which a subscription is read again. Changes of accounts always count. */
export interface Dependency {
  readonly model: Model;
  /** whether a change key of the market touches the list */
  readonly isTouchedBy?: (key: string) => boolean;
}

/**
 * Names the lists of a response that have more rows than it shows, by their response keys:
 * `extensions: { truncated: ["listRideRequests"] }`.
 */
export class Truncation {
  readonly #lists = new Set<string>();

  add(list: string): void {
    this.#lists.add(list);
  }

  /** Undefined when all lists are whole. */
  get extensions(): { readonly truncated: readonly string[] } | undefined {
    return this.#lists.size === 0 ? undefined : { truncated: [...this.#lists].toSorted() };
  }

  extend(result: ExecutionResult): ExecutionResult {
    const { extensions } = this;
    return extensions === undefined ? result : { ...result, extensions };
  }
}

const ACCOUNTS_PER_QUERY = 1_000;

interface Pending {
  readonly address: Buffer;
  readonly balance: PromiseWithResolvers<string>;
}

/** Balances from the explorer's read model. Those of one turn of the event loop share a query. */
export class Balances {
  readonly #reader: Reader;
  #pending = new Map<string, Pending>();

  constructor(reader: Reader) {
    this.#reader = reader;
  }

  /** Base units as decimal digits; 0 for an unknown account. Throws faults. */
  of(address: Buffer): Promise<string> {
    const key = toHex(address);
    const known = this.#pending.get(key);
    if (known !== undefined) return known.balance.promise;
    if (this.#pending.size === 0) setImmediate(() => void this.#read());
    const pending = { address, balance: Promise.withResolvers<string>() };
    this.#pending.set(key, pending);
    return pending.balance.promise;
  }

  async #read(): Promise<void> {
    const all = [...this.#pending];
    this.#pending = new Map();
    for (let at = 0; at < all.length; at += ACCOUNTS_PER_QUERY) {
      const batch = all.slice(at, at + ACCOUNTS_PER_QUERY);
      try {
        const rows = await this.#reader.rows(balancesOf(batch.map(([, { address }]) => address)));
        const found = new Map(rows.map(([address, balance]) => [byteaHex(address), balance]));
        for (const [key, { balance }] of batch) balance.resolve(found.get(key) ?? '0');
      } catch (error) {
        for (const [, { balance }] of batch) balance.reject(error);
      }
    }
  }
}
