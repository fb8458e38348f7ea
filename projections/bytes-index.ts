/**
 * A hash index that numbers byte strings, such as addresses, 0, 1, 2, ... in the order of their
 * insertion. A load looks up millions of them: strings as keys of a map would cost more than the
 * rest of the fold, and objects would burden the garbage collector.
 */

const CAPACITY_MIN = 512;
/** Before the words of each entry: its position, its length in bytes. */
const HEAD_WORDS = 2;
const WORDS_MIN = CAPACITY_MIN * (HEAD_WORDS + 5);
const EMPTY = -1;

export class BytesIndex {
  readonly #seed: number;
  #size = 0;
  /** all entries, in words of four bytes, the last word of each padded with zeros */
  #words = new Int32Array(WORDS_MIN);
  /** where in `#words` an entry begins, by position, and where the last one ends */
  #starts = new Int32Array(CAPACITY_MIN + 1);
  /** where in `#words` an entry begins, by its hash; at most half of the slots are taken */
  #slots = new Int32Array(CAPACITY_MIN * 2).fill(EMPTY);
  /** the key of the current call, in words */
  #key = new Int32Array(16);

  /** `seed`: 32 bits, random where those who choose the keys must not choose collisions */
  constructor(seed = 0) {
    this.#seed = seed;
  }

  get size(): number {
    return this.#size;
  }

  /** The position of the entry with these bytes, or -1. */
  find(bytes: Uint8Array): number {
    const start = this.#slots[this.#slotOf(bytes)] ?? EMPTY;
    return start === EMPTY ? -1 : (this.#words[start] ?? -1);
  }

  /** Adds an entry that is not there yet; returns its position. */
  add(bytes: Uint8Array): number {
    const position = this.#size;
    if (position * 2 === this.#slots.length) this.#grow();
    const start = this.#starts[position] ?? 0;
    this.#slots[this.#slotOf(bytes)] = start;
    const count = wordsIn(bytes.length);
    const end = start + HEAD_WORDS + count;
    if (end > this.#words.length)
      this.#words = enlarged(this.#words, Math.max(end, this.#words.length * 2));
    const words = this.#words;
    words[start] = position;
    words[start + 1] = bytes.length;
    for (let word = 0; word < count; word++)
      words[start + HEAD_WORDS + word] = this.#key[word] ?? 0;
    this.#starts[position + 1] = end;
    this.#size++;
    return position;
  }

  /** A copy of the entry at this position. */
  at(position: number): Buffer {
    const words = this.#words;
    const start = this.#starts[position] ?? 0;
    const bytes = Buffer.allocUnsafe(words[start + 1] ?? 0);
    for (let at = 0, word = start + HEAD_WORDS; at < bytes.length; at += 4, word++) {
      const bits = words[word] ?? 0;
      for (let byte = 0; byte < 4 && at + byte < bytes.length; byte++)
        bytes[at + byte] = bits >>> (byte * 8);
    }
    return bytes;
  }

  /** The slot of the entry, or a free one for it. Sets `#key`. */
  #slotOf(bytes: Uint8Array): number {
    const { length } = bytes;
    const count = wordsIn(length);
    if (count > this.#key.length) this.#key = new Int32Array(count);
    const key = this.#key;
    let hash = this.#seed ^ length;
    for (let word = 0, at = 0; word < count; word++, at += 4) {
      // bytes beyond the end are 0
      const bits =
        (bytes[at] ?? 0) |
        ((bytes[at + 1] ?? 0) << 8) |
        ((bytes[at + 2] ?? 0) << 16) |
        ((bytes[at + 3] ?? 0) << 24);
      key[word] = bits;
      hash = mixed(hash, bits);
    }
    const last = this.#slots.length - 1;
    let slot = hash & last;
    while (!this.#isFreeOrSame(this.#slots[slot] ?? EMPTY, length, count)) slot = (slot + 1) & last;
    return slot;
  }

  #isFreeOrSame(start: number, length: number, count: number): boolean {
    if (start === EMPTY) return true;
    const words = this.#words;
    if (words[start + 1] !== length) return false;
    const key = this.#key;
    for (let word = 0, at = start + HEAD_WORDS; word < count; word++, at++)
      if (words[at] !== key[word]) return false;
    return true;
  }

  #grow(): void {
    this.#starts = enlarged(this.#starts, this.#size * 2 + 1);
    const slots = new Int32Array(this.#slots.length * 2).fill(EMPTY);
    const last = slots.length - 1;
    for (let position = 0; position < this.#size; position++) {
      const start = this.#starts[position] ?? 0;
      const end = this.#starts[position + 1] ?? 0;
      let hash = this.#seed ^ (this.#words[start + 1] ?? 0);
      for (let word = start + HEAD_WORDS; word < end; word++)
        hash = mixed(hash, this.#words[word] ?? 0);
      let slot = hash & last;
      while (slots[slot] !== EMPTY) slot = (slot + 1) & last;
      slots[slot] = start;
    }
    this.#slots = slots;
  }
}

function wordsIn(bytes: number): number {
  return (bytes + 3) >> 2;
}

function mixed(hash: number, bits: number): number {
  const product = Math.imul(hash ^ bits, 0x9e3779b1);
  return product ^ (product >>> 15);
}

function enlarged(array: Int32Array<ArrayBuffer>, length: number): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(length);
  larger.set(array);
  return larger;
}

/** A map by address, in insertion order. */
export class AddressMap<Value> {
  readonly #index = new BytesIndex();
  readonly addresses: Buffer[] = [];
  readonly values: Value[] = [];

  get(address: Buffer): Value | undefined {
    const at = this.#index.find(address);
    return at === -1 ? undefined : this.values[at];
  }

  /** The address must not be in the map yet. */
  add(address: Buffer, value: Value): void {
    this.#index.add(address);
    this.addresses.push(address);
    this.values.push(value);
  }
}
