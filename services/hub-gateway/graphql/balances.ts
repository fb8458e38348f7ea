/** Balances from the explorer's read model. Those of one turn of the event loop share a query. */
import { balancesOf } from '../../../projections/explorer/queries/accounts.ts';
import { toHex } from '../../../schemas/address.ts';
import { byteaHex } from '../../runtime/postgres/cells.ts';
import type { Reader } from '../../runtime/postgres/pool.ts';

const ACCOUNTS_PER_QUERY = 1_000;

interface Pending {
  readonly address: Buffer;
  readonly balance: PromiseWithResolvers<string>;
}

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
