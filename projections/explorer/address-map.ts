/** A map by address. */
import { BytesIndex } from '../bytes-index.ts';

export class AddressMap<Value> {
  readonly #index = new BytesIndex();
  readonly #addresses: Buffer[] = [];
  readonly #values: Value[] = [];

  get(address: Buffer): Value | undefined {
    const place = this.#index.find(address);
    return place === -1 ? undefined : this.#values[place];
  }

  /** Of an address that is not there yet. */
  add(address: Buffer, value: Value): void {
    this.#index.add(address);
    this.#addresses.push(address);
    this.#values.push(value);
  }

  /** In the order in which they were added. */
  get addresses(): readonly Buffer[] {
    return this.#addresses;
  }

  get values(): readonly Value[] {
    return this.#values;
  }
}
