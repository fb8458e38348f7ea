/** Random operations and conversations on sockets of a hub: no answer is a fault, or malformed. */
import * as fc from 'fast-check';
import { WebSocket } from 'ws';
import { HANG_MS } from '../../support/limits.ts';
import { Random } from '../../support/random.ts';
import type { Sent } from '../runtime/http/fuzz-requests.ts';
import {
  TELLS_TOO_MUCH,
  type FuzzOptions,
  type FuzzReport,
  type FuzzTarget,
} from '../runtime/http/fuzz.ts';
import { FuzzInputs } from './fuzz-inputs.ts';

export interface FuzzedHub {
  /** of the hub, without a path */
  readonly url: string;
  /** valid */
  readonly token: string;
  /** existing hashes and addresses */
  readonly known: readonly string[];
}

const AT_ONCE = 8;
const WRONG_MAX = 10;

/** Allowed close codes, of the client (1000, 1005) and of the hub. */
const CLOSES: ReadonlySet<number> = new Set([1000, 1005, 1002, 1007, 1009, 4400, 4401, 4409, 4429]);
const TYPES: ReadonlySet<unknown> = new Set([
  'connection_ack',
  'next',
  'error',
  'complete',
  'ping',
  'pong',
]);
/** Without UPSTREAM_ERROR: every server behind the hub is up. */
const CODES: ReadonlySet<unknown> = new Set([
  'UNAUTHENTICATED',
  'BAD_USER_INPUT',
  'FORBIDDEN',
  'NOT_FOUND',
  'RATE_LIMITED',
  'GRAPHQL_PARSE_FAILED',
  'GRAPHQL_VALIDATION_FAILED',
  'BAD_REQUEST',
  'OPERATION_RESOLUTION_FAILURE',
  'PERSISTED_QUERY_NOT_SUPPORTED',
]);

const CONTENT_TYPES = [
  'application/json',
  'application/json; charset=utf-8',
  'application/json;charset=latin1',
  'text/plain',
  'application/graphql',
  '',
];
const ACCEPTS = [
  '*/*',
  'application/json',
  'application/graphql-response+json',
  'text/html',
  'text/plain',
  'application/graphql-response+json;q=0.1, application/json',
  'multipart/mixed',
];

/** Operations by HTTP. `count` is told each code of an error, and `data` of a result without. */
export function operationsOf(
  hub: FuzzedHub,
  count: (what: string) => void = () => undefined,
): FuzzTarget {
  const seeds = fc.noShrink(fc.noBias(fc.integer({ min: 0, max: 2 ** 31 - 1 })));
  return {
    url: hub.url,
    inputs: seeds.map((seed) => requestOf(new Random(seed), hub)),
    check: (_method, _path, { status, text, headers }) => {
      // the page for browsers
      if (status === 200 && headers.get('content-type')?.startsWith('text/html')) return;
      const problem = problemOf(parsed(text), count);
      if (problem !== undefined) throw new Error(`${problem}: ${text.slice(0, 300)}`);
    },
    isError: (text) => problemOf(parsed(text), () => undefined) === undefined,
  };
}

/** Conversations on sockets. */
export async function fuzzSockets(
  { url, token, known }: FuzzedHub,
  { inputs, seed }: FuzzOptions,
): Promise<FuzzReport> {
  const wrong: string[] = [];
  const counts: Record<string, number> = {};
  const count = (what: string): void => {
    counts[what] = (counts[what] ?? 0) + 1;
  };
  const converseOnce = async (at: number): Promise<void> => {
    // each input has its own seed, so that a failure can be repeated
    const random = new Random(seed * 1_000_003 + at);
    const made = new FuzzInputs(random, known);
    const frames: (string | Buffer)[] = [];
    if (random.chance(0.9)) {
      const payload = random.chance(0.7) ? { Authorization: `Bearer ${token}` } : made.json(3);
      frames.push(
        JSON.stringify({ type: 'connection_init', ...(random.chance(0.9) ? { payload } : {}) }),
      );
    }
    for (let more = random.below(12); more > 0; more--) frames.push(made.message());
    const blame = (problem: string): void => {
      if (wrong.length < WRONG_MAX)
        wrong.push(`${problem}; sent: ${JSON.stringify(frames).slice(0, 2_000)}`);
    };
    const { code, messages } = await converse(url, frames);
    count(`closed with ${code}`);
    if (!CLOSES.has(code)) blame(`closed with ${code}`);
    for (const { type, payload } of messages) {
      if (!TYPES.has(type)) blame(`a message of type ${String(type)}`);
      if (type !== 'next' && type !== 'error') continue;
      const problem = problemOf(type === 'error' ? { errors: payload } : payload, count);
      if (problem !== undefined) blame(`${problem}: ${JSON.stringify(payload)?.slice(0, 300)}`);
    }
  };
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < inputs) await converseOnce(next++);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return { wrong, counts };
}

/** The reason why this is no result of GraphQL, or none that a hub without faults gives. */
function problemOf(payload: unknown, count: (what: string) => void): string | undefined {
  if (!isResult(payload)) return 'no result of GraphQL';
  const codes = codesIn(payload);
  for (const code of codes.length === 0 ? ['data'] : codes) count(String(code));
  const others = codes.filter((code) => !CODES.has(code));
  if (others.length > 0) return `an error of code ${others.join()}`;
  return TELLS_TOO_MUCH.test(JSON.stringify(payload)) ? 'the response tells too much' : undefined;
}

function requestOf(random: Random, { token, known }: FuzzedHub): Sent {
  const inputs = new FuzzInputs(random, known);
  const method = random.chance(0.9)
    ? 'POST'
    : random.pick(['GET', 'PUT', 'DELETE', 'OPTIONS', 'PATCH']);
  const headers: Record<string, string> = {
    'content-type': random.chance(0.95) ? 'application/json' : random.pick(CONTENT_TYPES),
  };
  if (random.chance(0.3)) headers['accept'] = random.pick(ACCEPTS);
  if (random.chance(0.6))
    headers['authorization'] = random.chance(0.8)
      ? `Bearer ${token}`
      : `Bearer ${random.chance(0.5) ? plain(inputs.broken(token)) : 'x'}`;
  if (random.chance(0.05)) headers['accept'] = 'text/event-stream';
  if (method !== 'GET') return { method, target: '/graphql', headers, body: inputs.body() };
  const search = new URLSearchParams({
    query: inputs.document(),
    ...(random.chance(0.5) ? { variables: JSON.stringify(inputs.json(2)) } : {}),
  });
  return {
    method,
    target: `/graphql?${random.chance(0.9) ? search.toString() : inputs.broken(search.toString()).replaceAll(/[^\x21-\x7e]/g, '')}`,
    headers,
    body: undefined,
  };
}

/** Only characters that a header may have. */
function plain(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, '?');
}

/** An id that no input uses. */
const LAST = 'the last one';

interface Message {
  readonly id?: unknown;
  readonly type?: unknown;
  readonly payload?: unknown;
}

/** Sends the frames and waits until an operation after them, or the socket, has ended. */
async function converse(
  url: string,
  frames: readonly (string | Buffer)[],
): Promise<{ readonly code: number; readonly messages: readonly Message[] }> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/graphql/ws`, 'graphql-transport-ws');
  const messages: Message[] = [];
  const { promise: closed, resolve } = Promise.withResolvers<number>();
  const last = JSON.stringify({
    id: LAST,
    type: 'subscribe',
    payload: { query: '{ listRecentTrips(limit: 1) { txHash } }' },
  });
  socket.on('message', (data: Buffer) => {
    const message: Message = JSON.parse(data.toString());
    messages.push(message);
    if (message.type === 'connection_ack') sendOthers();
    if (message.id === LAST && (message.type === 'complete' || message.type === 'error'))
      socket.close(1000);
  });
  socket.once('close', (code) => resolve(code));
  socket.on('error', () => undefined);
  const [first, ...others] = [...frames, last];
  const sendOthers = (): void => {
    for (const frame of others.splice(0)) socket.send(frame);
  };
  socket.once('open', () => {
    socket.send(first);
    // other messages have to wait for the acknowledgement
    if (typeof first !== 'string' || !first.startsWith('{"type":"connection_init"')) sendOthers();
  });
  const late = setTimeout(() => socket.terminate(), HANG_MS);
  const code = await closed;
  clearTimeout(late);
  return { code, messages };
}

function isResult(payload: unknown): boolean {
  if (typeof payload !== 'object' || payload === null) return false;
  const { data, errors, ...others } = payload as {
    readonly data?: unknown;
    readonly errors?: unknown;
  };
  if (Object.keys(others).some((key) => key !== 'extensions')) return false;
  if (errors === undefined) return typeof data === 'object' && data !== null;
  return (
    Array.isArray(errors) &&
    errors.length > 0 &&
    errors.every(
      (error: unknown) => typeof error === 'object' && error !== null && 'message' in error,
    )
  );
}

function codesIn(payload: unknown): readonly unknown[] {
  if (
    typeof payload !== 'object' ||
    payload === null ||
    !('errors' in payload) ||
    !Array.isArray(payload.errors)
  )
    return [];
  return payload.errors.map(
    (error: { readonly extensions?: { readonly code?: unknown } }) => error.extensions?.code,
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
