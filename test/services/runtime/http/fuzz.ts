/**
 * Sends random requests to an HTTP interface. No response may be 5xx, without the interface's body,
 * or tell about the inside. The first wrong one is made as small as it still is wrong.
 */
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib';
import * as fc from 'fast-check';
import { messageOf } from '../../../../services/runtime/process/errors.ts';
import type { Sent } from './fuzz-requests.ts';
import { HANG_MS } from '../../../support/limits.ts';

export interface Answered {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
}

export interface FuzzTarget {
  /** of the gateway, without a path */
  readonly url: string;
  /** requests, and bytes in place of one, as latin1 */
  readonly inputs: fc.Arbitrary<Sent | string>;
  /** throws when the interface does not foresee this response; `path` is decodable */
  readonly check: (method: string, path: string, answer: Answered) => void;
  /** whether text is the body of an error of this interface with this status */
  readonly isError: (text: string, status: number) => boolean;
}

export interface FuzzOptions {
  readonly inputs: number;
  readonly seed: number;
}

export interface FuzzReport {
  /** each with its seed, its path in fast-check and the smallest input that still is wrong */
  readonly wrong: readonly string[];
  /** responses by status; `closed`: connections closed without one */
  readonly counts: Readonly<Record<string, number>>;
}

const AT_ONCE = 8;
/** A request that is not whole by then is broken off. */
const END_MS = 200;
const DECODERS: Readonly<Record<string, (bytes: Buffer) => Buffer>> = {
  identity: (bytes) => bytes,
  br: brotliDecompressSync,
  zstd: zstdDecompressSync,
  gzip: gunzipSync,
};
export const TELLS_TOO_MUCH = /node_modules|\.ts:\d|storage_timeout|127\.0\.0\.1|SELECT /;

export async function fuzz(target: FuzzTarget, { inputs, seed }: FuzzOptions): Promise<FuzzReport> {
  const wrong: string[] = [];
  const counts: Record<string, number> = {};
  const count = (what: number | string): void => {
    counts[what] = (counts[what] ?? 0) + 1;
  };
  const agent = new Agent({ keepAlive: true });
  const property = fc.asyncProperty(target.inputs, async (sent) => {
    if (typeof sent === 'string')
      return judgeRaw(target, sent, await exchangeRaw(target.url, sent), count);
    const answer = await exchange(target.url, sent, agent);
    count(answer.status);
    judge(target, sent, answer);
  });
  const worker = async (at: number): Promise<void> => {
    const details = await fc.check(property, {
      seed: seed * AT_ONCE + at,
      numRuns: Math.ceil((inputs - at) / AT_ONCE),
    });
    if (!details.failed) return;
    const { errorInstance: error, counterexample, counterexamplePath: path } = details;
    wrong.push(
      `${messageOf(error)}
  seed ${details.seed}, path ${path}: ${JSON.stringify(counterexample).slice(0, 2_000)}`,
    );
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, inputs) }, (_, at) => worker(at)));
  agent.destroy();
  return { wrong, counts };
}

/** An expectation and a head that is too long are refused wherever they come from. */
const ANYWHERE: ReadonlySet<number> = new Set([417, 431]);
const DOCUMENTED: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST']);

function judge({ check, isError }: FuzzTarget, { method, target }: Sent, answer: Answered): void {
  const { status, text } = answer;
  if (status >= 500) throw new Error(`status ${status}: ${text.slice(0, 300)}`);
  if (status >= 400 && TELLS_TOO_MUCH.test(text))
    throw new Error(`the response tells too much: ${text.slice(0, 300)}`);
  if (status >= 400 && method !== 'HEAD' && !isError(text, status))
    throw new Error(`status ${status} without an error of the interface: ${text.slice(0, 300)}`);
  const [path] = target.split('?');
  const isPlain = URL.parse(`http://x${target}`)?.pathname === path;
  if (isPlain && DOCUMENTED.has(method) && !ANYWHERE.has(status)) check(method, target, answer);
}

const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';

/** `bytes`: all that came on the connection, as latin1; the first response counts. */
function judgeRaw(
  { isError }: FuzzTarget,
  sent: string,
  bytes: string,
  count: (what: number | string) => void,
): void {
  // the client ends its side before an answer that takes long
  const answer = bytes.replace(CONTINUE, '');
  if (answer === '') return count('closed');
  const [head = '', body = ''] = answer.split(/\r\n\r\n(.*)/s);
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(head)?.[1]);
  count(status);
  if (!(status < 500)) throw new Error(bytes.slice(0, 500));
  // line breaks before a request are nothing (RFC 9112, 2.2)
  const hasNoBody = /^[\r\n]*HEAD /.test(sent) && /content-length: [1-9]/i.test(head);
  if (status >= 400 && !hasNoBody && !isError(body, status))
    throw new Error(`no error of the interface: ${bytes.slice(0, 500)}`);
}

function exchange(
  url: string,
  { method, target, headers, body }: Sent,
  agent: Agent,
): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    const signal = AbortSignal.timeout(HANG_MS);
    const options = { hostname, port, method, path: target, headers, agent, signal };
    request(options, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.once('error', reject);
      response.once('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          text: textOf(Buffer.concat(chunks), response.headers['content-encoding']),
          headers: new Headers(
            Object.entries(response.headersDistinct).map(([name, values = []]) => [
              name,
              values.join(', '),
            ]),
          ),
        }),
      );
    })
      .once('error', reject)
      .end(body);
  });
}

function textOf(bytes: Buffer, coding = 'identity'): string {
  const decode = DECODERS[coding];
  if (decode === undefined) throw new Error(`the content coding ${coding} is unknown`);
  // HEAD
  if (bytes.length === 0) return '';
  return decode(bytes).toString();
}

/** Sends the bytes, and after a moment their end; resolves with all that comes. */
async function exchangeRaw(url: string, bytes: string): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  // a server may close before it has read all
  socket.on('error', () => undefined);
  socket.setTimeout(HANG_MS, () => socket.destroy(new Error('no end')));
  socket.write(bytes, 'latin1');
  // at once the end would abort requests that take a while
  const end = setTimeout(() => socket.end(), END_MS);
  await once(socket, 'close');
  clearTimeout(end);
  return Buffer.concat(chunks).toString('latin1');
}
