/** Inputs near those that a decoder accepts or that found something before. */
import * as fc from 'fast-check';

export const BYTES_MAX = 4_096;

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

/** A place in bytes of any length, `at` of `ENDS`. */
const ENDS = 0xffff;
const PLACE = fc.nat(ENDS);

function placeIn(bytes: Buffer, at: number): number {
  return Math.round((at / ENDS) * bytes.length);
}

type Change = (bytes: Buffer) => Buffer;

/** One of `inputs` (at least one) with up to six changes, of which some put one of `words`. */
export function bytesNear(
  inputs: readonly Buffer[],
  words: readonly (string | Buffer)[],
): fc.Arbitrary<Buffer> {
  const input = fc.constantFrom(...inputs);
  const part = fc.tuple(input, PLACE, PLACE).map(([bytes, one, other]) => {
    const places = [placeIn(bytes, one), placeIn(bytes, other)];
    return bytes.subarray(Math.min(...places), Math.max(...places));
  });
  const piece = fc.oneof(
    fc.constantFrom(...[...words, ...WORDS].map((word) => Buffer.from(word))),
    fc.uint8Array({ maxLength: 8 }).map((bytes) => Buffer.from(bytes)),
    part,
  );
  const put = fc
    .record({
      at: PLACE,
      cut: fc.oneof(fc.nat(8), fc.nat(256)),
      piece,
      times: fc.oneof(
        { weight: 9, arbitrary: fc.constant(1) },
        { weight: 1, arbitrary: fc.nat(64) },
      ),
    })
    .map(({ at, cut, piece: bytes, times }): Change => {
      const pieces = Array.from({ length: times }, () => bytes);
      return (whole) => replaced(whole, placeIn(whole, at), cut, pieces);
    });
  const number = fc.tuple(PLACE, fc.constantFrom(...NUMBERS)).map(
    ([at, text]): Change =>
      (whole) =>
        withNumber(whole, placeIn(whole, at), text),
  );
  const changes = fc.array(
    fc.oneof({ weight: 4, arbitrary: put }, { weight: 1, arbitrary: number }),
    { maxLength: 6 },
  );
  return fc
    .tuple(input, changes)
    .map(([bytes, all]) =>
      all.reduce((whole, change) => change(whole), bytes).subarray(0, BYTES_MAX),
    );
}

function replaced(bytes: Buffer, at: number, cut: number, by: readonly Buffer[]): Buffer {
  return Buffer.concat([bytes.subarray(0, at), ...by, bytes.subarray(at + cut)]);
}

/** The decimal number at or after this place becomes another. */
function withNumber(bytes: Buffer, at: number, text: string): Buffer {
  const match = /-?\d+(?:\.\d+)?/.exec(bytes.toString('latin1', at));
  const [from, length] = match === null ? [at, 0] : [at + match.index, match[0].length];
  return replaced(bytes, from, length, [Buffer.from(text)]);
}
