/**
 * Tiles of the console's map as a file on this machine, served in the parts that a page asks for.
 * Source of the format: github.com/protomaps/PMTiles, spec/v3.
 */
import { closeSync, fstat, openSync, read, readSync } from 'node:fs';
import { promisify } from 'node:util';
import type { GetRoute } from '../runtime/http/handler.ts';
import { Fault } from '../runtime/process/errors.ts';

/** Where a page finds them. */
export const TILES_PATH = '/tiles.pmtiles';

const HEADER_BYTES = 127;
const VERSION_AT = 7;
const VERSION = 3;
const TYPE_AT = 99;
const VECTOR = 1;
/** Directories and tiles are smaller: a page never needs more at once. */
const PART_BYTES_MAX = 4 * 1_024 * 1_024;
const PIECE_BYTES = 64 * 1_024;
const TILES_S = 3_600;

/** Returns the path. Throws why no map can be drawn from this file. */
export function checkedTiles(path: string): string {
  const header = Buffer.alloc(HEADER_BYTES);
  let file: number | undefined;
  try {
    file = openSync(path, 'r');
    readSync(file, header, 0, HEADER_BYTES, 0);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : '';
    throw new Error(`the file cannot be read${code}`, { cause: error });
  } finally {
    if (file !== undefined) closeSync(file);
  }
  if (header.toString('latin1', 0, VERSION_AT) !== 'PMTiles' || header[VERSION_AT] !== VERSION)
    throw new Error('the file is no PMTiles archive of version 3');
  if (header[TYPE_AT] !== VECTOR) throw new Error('the archive has no vector tiles');
  return path;
}

const [readAt, statOf] = [promisify(read), promisify(fstat)];

/**
 * Keeps the file open: another one in its place shows after the next start. One that is changed in
 * place has another validator, so that pages begin anew.
 */
export function tilesRoute(path: string): GetRoute {
  const file = openSync(path, 'r');
  return {
    method: 'get',
    path: TILES_PATH,
    handle: async (request) => {
      const { size, mtimeMs } = await statOf(file);
      const part = partOf(request.headers.range, size);
      if (part === undefined)
        return {
          refused: 'invalid_request',
          message: 'the file is sent in parts alone: ask with the header Range: bytes=0-16383',
        };
      const { from, length } = part;
      if (length <= 0)
        return { status: 416, body: '', headers: { 'content-range': `bytes */${size}` } };
      return {
        status: 206,
        body: piecesOf(file, from, length),
        content_type: 'application/vnd.pmtiles',
        headers: {
          'accept-ranges': 'bytes',
          'cache-control': `public, max-age=${TILES_S}`,
          'content-length': String(length),
          'content-range': `bytes ${from}-${from + length - 1}/${size}`,
          // strong, since parts of several answers are put together
          etag: `"${size.toString(36)}-${Math.trunc(mtimeMs).toString(36)}"`,
        },
      };
    },
  };
}

/** At the pace of the client: one that does not read holds a piece, and not its whole part. */
async function* piecesOf(file: number, from: number, length: number): AsyncGenerator<Buffer> {
  for (let sent = 0; sent < length;) {
    const piece = Buffer.alloc(Math.min(PIECE_BYTES, length - sent));
    const { bytesRead } = await readAt(file, piece, 0, piece.length, from + sent);
    if (bytesRead === 0)
      throw new Fault('tiles_cut', 'the file of the tiles was made shorter while it was sent', {
        retry: true,
      });
    sent += bytesRead;
    yield piece.subarray(0, bytesRead);
  }
}

/** Undefined: no part, or several. A part that begins behind the end has no length. */
function partOf(
  range: string | undefined,
  size: number,
): { readonly from: number; readonly length: number } | undefined {
  const [, first, last] = /^bytes=([0-9]{1,15})-([0-9]{0,15})$/.exec(range ?? '') ?? [];
  if (first === undefined) return undefined;
  const from = Number(first);
  const to = last === '' ? size - 1 : Math.min(Number(last), size - 1);
  return { from, length: Math.min(to - from + 1, PART_BYTES_MAX) };
}
