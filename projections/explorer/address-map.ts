/** A map by address. Batches look up millions of them: to make a string of each would cost more than the rest of the fold. */

const WORDS = 5;
const ADDRESS_BYTES = WORDS * 4;
const CAPACITY_MIN = 512;
const EMPTY = -1;

export class AddressMap<Value> {
  readonly #addresses: Buffer[] = [];
  readonly #values: Value[] = [];
  /** of the addresses, five each */
  #words = new Int32Array(CAPACITY_MIN * WORDS);
  /** places in the lists; at most half of them are taken */
  #slots = new Int32Array(CAPACITY_MIN * 2).fill(EMPTY);
  /** of the address that is looked up */
  readonly #key = new Int32Array(WORDS);

  get(address: Buffer): Value | undefined {
    const place = this.#slots[this.#slotOf(address)] ?? EMPTY;
    return place === EMPTY ? undefined : this.#values[place];
  }

  /** Of an address that is not there yet; 20 bytes. */
  add(address: Buffer, value: Value): void {
    if (address.length !== ADDRESS_BYTES) throw new RangeError(`an address has ${ADDRESS_BYTES} bytes, not ${address.length}`);
    if (this.#values.length * 2 === this.#slots.length) this.#grow();
    const slot = this.#slotOf(address);
    const place = this.#values.length;
    this.#slots[slot] = place;
    this.#words.set(this.#key, place * WORDS);
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

  /** Where it stands, or may stand. */
  #slotOf(address: Buffer): number {
    const key = this.#key;
    let hash = 0;
    for (let word = 0, at = 0; word < WORDS; word++, at += 4) {
      // what is beyond the end counts as 0
      const bits = (address[at] ?? 0) | ((address[at + 1] ?? 0) << 8) | ((address[at + 2] ?? 0) << 16) | ((address[at + 3] ?? 0) << 24);
      key[word] = bits;
      hash = Math.imul(hash ^ bits, 0x9e3779b1);
      hash ^= hash >>> 15;
    }
    const last = this.#slots.length - 1;
    let slot = hash & last;
    while (!this.#isFreeOrSame(this.#slots[slot] ?? EMPTY)) slot = (slot + 1) & last;
    return slot;
  }

  #isFreeOrSame(place: number): boolean {
    if (place === EMPTY) return true;
    const words = this.#words;
    const key = this.#key;
    const at = place * WORDS;
    return (
      words[at] === key[0] && words[at + 1] === key[1] && words[at + 2] === key[2] && words[at + 3] === key[3] && words[at + 4] === key[4]
    );
  }

  #grow(): void {
    const words = new Int32Array(this.#words.length * 4);
    words.set(this.#words);
    this.#words = words;
    this.#slots = new Int32Array(this.#slots.length * 4).fill(EMPTY);
    for (const [place, address] of this.#addresses.entries()) this.#slots[this.#slotOf(address)] = place;
  }
}
