/** Content codings of responses: brotli, zstd and gzip (RFC 9110, sections 8.4 and 12.5.3). */
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip, zstdCompress } from 'node:zlib';

/** The first of equal weight is used. */
const CODINGS = ['br', 'zstd', 'gzip'] as const;
export type Coding = (typeof CODINGS)[number];

/** Levels that take about as long as the rest of a response; higher ones save little. */
const brotliOptions = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } };
const compressors: Readonly<Record<Coding, (body: string | Buffer) => Promise<Buffer>>> = {
  br: (body) => promisify(brotliCompress)(body, brotliOptions),
  zstd: (body) => promisify(zstdCompress)(body),
  gzip: (body) => promisify(gzip)(body),
};

/** Off the event loop. */
export function compress(body: string | Buffer, coding: Coding): Promise<Buffer> {
  return compressors[coding](body);
}

/** The coding that a client with this Accept-Encoding prefers; undefined: none of them. */
export function preferredCoding(acceptEncoding: string | undefined): Coding | undefined {
  if (acceptEncoding === undefined) return undefined;
  const weights = new Map(acceptEncoding.split(',').map(weightOf));
  let best: Coding | undefined;
  let most = 0;
  for (const coding of CODINGS) {
    const weight = weights.get(coding) ?? weights.get('*') ?? 0;
    if (weight > most) [best, most] = [coding, weight];
  }
  return most >= (weights.get('identity') ?? 0) ? best : undefined;
}

/** A coding and its weight, of `gzip` or `gzip;q=0.5`; a malformed weight is 0. */
function weightOf(item: string): readonly [coding: string, weight: number] {
  const [coding = '', parameter] = item.toLowerCase().split(';', 2);
  const weight =
    parameter === undefined ? 1 : Number(/^\s*q=([01](?:\.\d{0,3})?)\s*$/.exec(parameter)?.[1]);
  return [coding.trim(), weight > 0 ? Math.min(weight, 1) : 0];
}
