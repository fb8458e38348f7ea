/** Seeded randomness: the same seed gives the same run, for ever and everywhere. */

export class Random {
  #a: number;
  #b: number;
  #c: number;
  #count = 1;

  constructor(seed: number) {
    this.#a = seed | 0;
    this.#b = Math.floor(seed / 2 ** 32) | 0;
    this.#c = 0x9e3779b9;
    for (let at = 0; at < 12; at++) this.uint32();
  }

  /** 0 to 2^32 - 1 (sfc32). */
  uint32(): number {
    const sum = (this.#a + this.#b + this.#count++) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = ((this.#c << 21) | (this.#c >>> 11)) + sum;
    return sum >>> 0;
  }

  /** 0 to `limit` - 1. */
  below(limit: number): number {
    return Math.floor((this.uint32() / 2 ** 32) * limit);
  }

  /** True with this probability. */
  chance(probability: number): boolean {
    return this.uint32() < probability * 2 ** 32;
  }

  pick<Item>(items: readonly Item[]): Item {
    const item = items[this.below(items.length)];
    if (item === undefined) throw new Error('nothing to pick from');
    return item;
  }

  /** A multiple of 4 bytes. */
  bytes(count: number): Buffer {
    const bytes = Buffer.allocUnsafe(count);
    for (let at = 0; at < count; at += 4) bytes.writeUInt32LE(this.uint32(), at);
    return bytes;
  }
}

/** Draws each item once, in random order, before any comes again. */
export class Deck<Item> {
  readonly #items: readonly Item[];
  readonly #random: Random;
  #left: Item[] = [];

  constructor(items: readonly Item[], random: Random) {
    this.#items = items;
    this.#random = random;
  }

  draw(): Item {
    if (this.#left.length === 0) this.#left = [...this.#items];
    const [item] = this.#left.splice(this.#random.below(this.#left.length), 1);
    if (item === undefined) throw new Error('a deck without items has nothing to draw');
    return item;
  }
}
