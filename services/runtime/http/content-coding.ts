/** Content codings of responses: brotli, zstd and gzip (RFC 9110, sections 8.4 and 12.5.3). */
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip, zstdCompress } from 'node:zlib';
import Negotiator from 'negotiator';

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
  const negotiator = new Negotiator({ headers: { 'accept-encoding': acceptEncoding } });
  // @ts-expect-error -- the types are of an older version, without the order of equal weights
  const preferred = negotiator.encoding([...CODINGS, 'identity'], { preferred: CODINGS });
  return CODINGS.find((coding) => coding === preferred);
}
