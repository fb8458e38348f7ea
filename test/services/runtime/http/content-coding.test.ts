import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compress, preferredCoding } from '../../../../services/runtime/http/content-coding.ts';

const CASES: readonly (readonly [accepted: string | undefined, coding: string | undefined])[] = [
  [undefined, undefined],
  ['', undefined],
  ['identity', undefined],
  ['deflate, compress', undefined],
  ['gzip', 'gzip'],
  ['gzip, deflate', 'gzip'],
  ['gzip, deflate, br', 'br'],
  ['gzip, deflate, br, zstd', 'br'],
  ['zstd,gzip', 'zstd'],
  ['GZIP', 'gzip'],
  ['*', 'br'],
  ['*;q=0', undefined],
  ['br;q=0, *', 'zstd'],
  ['gzip, *;q=0', 'gzip'],
  ['gzip;q=1.0, br;q=0.9', 'gzip'],
  ['gzip;q=0.5, zstd;q=0.8, br;q=0.2', 'zstd'],
  ['gzip ; q=0.5 , br ; q=0.25', 'gzip'],
  ['gzip;q=0, br;q=0.000', undefined],
  ['identity, gzip;q=0.5', undefined],
  ['identity;q=0.5, gzip;q=0.5', 'gzip'],
  ['identity;q=0, gzip;q=0.1', 'gzip'],
  ['gzip;q=-1, br;q=x', undefined],
  ['zstd;level=3', 'zstd'],
];

describe('the coding for Accept-Encoding', () => {
  test.each(CASES)('%j is %s', (accepted, coding) => {
    expect(preferredCoding(accepted)).toBe(coding);
  });

  test('any text has one or none', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect([undefined, 'br', 'zstd', 'gzip']).toContain(preferredCoding(text));
      }),
    );
  });
});

test('every coding gives the body back', async () => {
  const body = 'Zürich, "ä"\n'.repeat(500);
  const decompress = { br: brotliDecompressSync, zstd: zstdDecompressSync, gzip: gunzipSync };
  for (const coding of ['br', 'zstd', 'gzip'] as const) {
    const coded = await compress(Buffer.from(body), coding);
    expect([coding, decompress[coding](coded).toString()]).toEqual([coding, body]);
    expect(coded.length).toBeLessThan(body.length / 10);
  }
});
