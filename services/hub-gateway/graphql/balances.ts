/** Balances by the accounts projection. Those asked for at the same moment are read together: many sockets may each watch another account. */
import { balancesOf } from '../../../projections/explorer/queries/accounts.ts';
import { toHex } from '../../../schemas/address.ts';
import { byteaHex } from '../../runtime/postgres/cells.ts';
import type { Reader } from '../../runtime/postgres/pool.ts';

const TOGETHER_MAX = 1_000;

interface Wanted {
  readonly address: Buffer;
  readonly balance: PromiseWithResolvers<string>;
}

export class Balances {
  readonly #reader: Reader;
  #wanted = new Map<string, Wanted>();

  constructor(reader: Reader) {
    this.#reader = reader;
  }

  /** Base units as decimal digits; 0 for an account that nothing was ever heard of. Throws faults. */
  of(address: Buffer): Promise<string> {
    const key = toHex(address);
    const known = this.#wanted.get(key);
    if (known !== undefined) return known.balance.promise;
    if (this.#wanted.size === 0) setImmediate(() => void this.#read());
    const wanted = { address, balance: Promise.withResolvers<string>() };
    this.#wanted.set(key, wanted);
    return wanted.balance.promise;
  }

  async #read(): Promise<void> {
    const all = [...this.#wanted];
    this.#wanted = new Map();
    for (let at = 0; at < all.length; at += TOGETHER_MAX) {
      const some = all.slice(at, at + TOGETHER_MAX);
      try {
        const rows = await this.#reader.rows(balancesOf(some.map(([, { address }]) => address)));
        const found = new Map(rows.map(([address, balance]) => [byteaHex(address), balance]));
        for (const [key, { balance }] of some) balance.resolve(found.get(key) ?? '0');
      } catch (error) {
        for (const [, { balance }] of some) balance.reject(error);
      }
    }
  }
}
