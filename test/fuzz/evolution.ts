/**
 * The inputs that a fuzz run keeps, and new ones made of them. An input is kept when it runs a
 * branch, or runs it in another order of magnitude, that none before did, or does so with less than
 * half the bytes. The longer one stays: it may have what comes after that branch. `coverage.ts`
 * counts how often branches run.
 */
import type { Random } from '../support/random.ts';
import type { Compared } from './coverage.ts';

interface Kept {
  readonly bytes: Buffer;
  /** of the code that it ran */
  readonly compared: readonly Compared[];
  /** how often an input was made of it */
  picks: number;
}

export interface EvolutionOptions {
  readonly random: Random;
  readonly words: readonly (string | Buffer)[];
  readonly bytes_max: number;
  /** of the code under test, read and cleared after each input */
  readonly counters: Uint8Array;
  /** how many of them are in use */
  readonly branches: () => number;
  /** read and cleared as well */
  readonly compared: Compared[];
}

/** A branch that ran 1, 2, 3, 4 to 7, 8 to 15, 16 to 31, 32 to 127, or more times. */
const FEATURES_PER_BRANCH = 8;
const MAGNITUDE = Uint8Array.from({ length: 256 }, (_, count) => {
  if (count < 4) return Math.max(0, count - 1);
  return count < 128 ? Math.min(6, Math.floor(Math.log2(count)) + 1) : 7;
});

const BYTES = [0x00, 0x01, 0x20, 0x22, 0x30, 0x5c, 0x7b, 0x7f, 0x80, 0xb7, 0xb8, 0xc0, 0xf8, 0xff];
const NUMBERS =
  '0 -0 1 -1 0.5 1e400 -1e400 1e-400 127 128 255 256 32768 65535 65536 2147483647 2147483648 4294967296 9007199254740991 9007199254740992 9223372036854775807 18446744073709551616 115792089237316195423570985008687907853269984665640564039457584007913129639936'.split(
    ' ',
  );
/** Any input from outside may have them. */
const WORDS = [
  '__proto__',
  'constructor',
  'null',
  'true',
  '[]',
  '{}',
  '""',
  '\\u0000',
  'é',
  '\ud83d\ude95',
];

export class Evolution {
  readonly #options: EvolutionOptions;
  readonly #random: Random;
  readonly #words: readonly Buffer[];
  readonly #kept: Kept[] = [];
  /** the fewest bytes that ran a branch so often, by both */
  readonly #shortest = new Map<number, number>();
  /** branches that ran */
  readonly #ran = new Set<number>();

  constructor(options: EvolutionOptions) {
    this.#options = options;
    this.#random = options.random;
    this.#words = [...options.words, ...WORDS].map((word) => Buffer.from(word));
  }

  get branches(): number {
    return this.#ran.size;
  }

  get kept(): readonly Buffer[] {
    return this.#kept.map(({ bytes }) => bytes);
  }

  /** Call after the code ran with these bytes. True when they are kept. */
  ran(bytes: Buffer): boolean {
    const gained = this.#features().filter(
      (feature) => bytes.length * 2 < (this.#shortest.get(feature) ?? Number.POSITIVE_INFINITY),
    );
    for (const feature of gained) {
      this.#shortest.set(feature, bytes.length);
      this.#ran.add(Math.floor(feature / FEATURES_PER_BRANCH));
    }
    const isKept = gained.length > 0;
    if (isKept) this.#kept.push({ bytes, compared: [...this.#options.compared], picks: 0 });
    this.clear();
    return isKept;
  }

  /** Forgets what ran since the last input. */
  clear(): void {
    this.#options.counters.fill(0, 0, this.#options.branches());
    this.#options.compared.length = 0;
  }

  #features(): number[] {
    const { counters, branches } = this.#options;
    const features: number[] = [];
    for (let branch = 0, end = branches(); branch < end; branch++) {
      const count = counters[branch] ?? 0;
      if (count > 0) features.push(branch * FEATURES_PER_BRANCH + (MAGNITUDE[count] ?? 0));
    }
    return features;
  }

  /** A new input: a kept one, changed in some places. */
  next(): Buffer {
    const { compared, bytes: picked } = this.#pick();
    let bytes = picked;
    for (let left = 1 + this.#random.below(1 << this.#random.below(4)); left > 0; left--)
      bytes = this.#changed(bytes, compared);
    return bytes.subarray(0, this.#options.bytes_max);
  }

  /** The rarer used one of two. */
  #pick(): Kept {
    const [one, other] = [this.#random.pick(this.#kept), this.#random.pick(this.#kept)];
    const picked = one.picks <= other.picks ? one : other;
    picked.picks++;
    return picked;
  }

  #changed(bytes: Buffer, compared: readonly Compared[]): Buffer {
    const random = this.#random;
    const at = random.below(bytes.length + 1);
    const end = at + this.#length(bytes.length - at);
    const replaced = (from: number, to: number, ...by: readonly Uint8Array[]): Buffer =>
      Buffer.concat([bytes.subarray(0, from), ...by, bytes.subarray(to)]);
    switch (random.below(11)) {
      case 0:
        return replaced(at, at + 1, Uint8Array.of((bytes[at] ?? 0) ^ (1 << random.below(8))));
      case 1:
        return replaced(at, at + 1, Uint8Array.of(random.pick(BYTES)));
      case 2:
        return replaced(at, end);
      case 3: {
        const times = 1 << random.below(7);
        return replaced(at, at, ...Array.from({ length: times }, () => bytes.subarray(at, end)));
      }
      case 4:
        return replaced(at, at, random.bytes(8).subarray(0, 1 + random.below(8)));
      case 5:
        return replaced(at, random.chance(0.5) ? at : end, random.pick(this.#words));
      case 6:
        return this.#withNumber(bytes, at);
      case 7:
        return this.#withInteger(bytes, at);
      case 8: {
        const other = random.pick(this.#kept).bytes;
        const from = random.below(other.length + 1);
        const part = other.subarray(from, from + this.#length(other.length - from));
        return replaced(at, random.chance(0.5) ? end : at, part);
      }
      case 9:
        return replaced(random.below(bytes.length + 1), bytes.length, bytes.subarray(at));
      default:
        return this.#asCompared(bytes, at, compared);
    }
  }

  /** Mostly short, up to `most`. */
  #length(most: number): number {
    return Math.min(most, 1 + this.#random.below(1 << this.#random.below(8)));
  }

  /** The decimal number at or after this place becomes another. */
  #withNumber(bytes: Buffer, at: number): Buffer {
    const match = /-?\d+(?:\.\d+)?/.exec(bytes.toString('latin1', at));
    const number = Buffer.from(this.#random.pick(NUMBERS));
    const [from, length] = match === null ? [at, 0] : [at + match.index, match[0].length];
    return Buffer.concat([bytes.subarray(0, from), number, bytes.subarray(from + length)]);
  }

  /** An integer of 2, 4 or 8 bytes: small, large, or below zero. */
  #withInteger(bytes: Buffer, at: number): Buffer {
    const size = 2 << this.#random.below(3);
    const integer = Buffer.alloc(8);
    const small = BigInt(this.#random.below(512) - 256);
    integer.writeBigInt64BE(
      this.#random.chance(0.7) ? small : (1n << 62n) >> BigInt(this.#random.below(48)),
    );
    return Buffer.concat([
      bytes.subarray(0, at),
      integer.subarray(8 - size),
      bytes.subarray(at + size),
    ]);
  }

  /** A value that the code compared becomes the constant that it was compared with. */
  #asCompared(bytes: Buffer, at: number, compared: readonly Compared[]): Buffer {
    if (compared.length === 0) return bytes;
    const [one, other] = this.#random.pick(compared);
    const [had, wanted] = [this.#bytesOf(one), this.#bytesOf(other)];
    const found = had.length === 0 ? -1 : bytes.indexOf(had, this.#random.chance(0.5) ? at : 0);
    const [from, length] = found === -1 ? [at, 0] : [found, had.length];
    return Buffer.concat([bytes.subarray(0, from), wanted, bytes.subarray(from + length)]);
  }

  #bytesOf(value: string | number): Buffer {
    const isByte =
      typeof value === 'number' && value >= 0 && value < 256 && this.#random.chance(0.5);
    return isByte ? Buffer.from([value]) : Buffer.from(String(value));
  }
}
