/** Sends random input to a hub. No response may be a fault, malformed, or missing. */
import { WebSocket } from 'ws';
import { Random } from '../../support/random.ts';
import { FuzzInputs } from './fuzz-inputs.ts';
import { HANG_MS } from '../../support/limits.ts';

export interface FuzzTarget {
  /** of the hub, without a path */
  readonly url: string;
  /** valid */
  readonly token: string;
  /** existing hashes and addresses */
  readonly known: readonly string[];
}

export interface FuzzOptions {
  readonly requests: number;
  readonly sockets: number;
  readonly seed: number;
}

export interface FuzzReport {
  /** wrong responses with their requests, of which the first are kept */
  readonly wrong: readonly string[];
  /**
   * HTTP responses by status, results without errors as `data`, errors by code, sockets by close
   * code
   */
  readonly counts: Readonly<Record<string, number>>;
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
const TELLS_TOO_MUCH = /node_modules|\.ts:\d|storage_|127\.0\.0\.1|SELECT /;

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

export async function fuzz(
  target: FuzzTarget,
  { requests, sockets, seed }: FuzzOptions,
): Promise<FuzzReport> {
  const wrong: string[] = [];
  const counts: Record<string, number> = {};
  const count = (what: string): void => {
    counts[what] = (counts[what] ?? 0) + 1;
  };
  const blame = (problem: string, sent: unknown): void => {
    if (wrong.length < WRONG_MAX)
      wrong.push(`${problem}; sent: ${JSON.stringify(sent).slice(0, 2_000)}`);
  };
  const judge = (payload: unknown, sent: unknown): void => {
    const codes = codesIn(payload);
    if (codes.length === 0 && isResult(payload)) count('data');
    for (const code of codes) {
      count(String(code));
      if (!CODES.has(code)) blame(`an error of code ${String(code)}`, sent);
    }
    const text = JSON.stringify(payload);
    if (TELLS_TOO_MUCH.test(text))
      blame(`the response tells too much: ${text.slice(0, 300)}`, sent);
  };

  /** Each input has its own seed, so that a failure can be repeated. */
  const http = async (at: number): Promise<void> => {
    const random = new Random(seed * 1_000_003 + at);
    const inputs = new FuzzInputs(random, target.known);
    const sent = requestOf(random, inputs, target);
    const response = await fetch(target.url + sent.path, {
      method: sent.method,
      headers: sent.headers,
      ...(sent.body === undefined ? {} : { body: sent.body }),
      signal: AbortSignal.timeout(HANG_MS),
    });
    const text = await response.text();
    count(`status ${response.status}`);
    if (response.status >= 500)
      return blame(`status ${response.status}: ${text.slice(0, 300)}`, sent);
    const type = response.headers.get('content-type') ?? '';
    if (
      type.startsWith('text/html') &&
      sent.headers['accept'] === 'text/html' &&
      response.status === 200
    )
      return;
    if (sent.method === 'OPTIONS' && response.status === 204) return;
    const payload = parsed(text);
    if (!isResult(payload))
      return blame(`no result of GraphQL: ${response.status} ${type} ${text.slice(0, 300)}`, sent);
    judge(payload, sent);
  };

  const socket = async (at: number): Promise<void> => {
    const random = new Random(seed * 1_000_003 - 1 - at);
    const inputs = new FuzzInputs(random, target.known);
    const frames: (string | Buffer)[] = [];
    if (random.chance(0.9)) {
      const payload = random.chance(0.7)
        ? { Authorization: `Bearer ${target.token}` }
        : inputs.json(3);
      frames.push(
        JSON.stringify({ type: 'connection_init', ...(random.chance(0.9) ? { payload } : {}) }),
      );
    }
    for (let more = random.below(12); more > 0; more--) frames.push(inputs.message());
    const { code, messages } = await converse(target.url, frames);
    count(`closed with ${code}`);
    if (!CLOSES.has(code)) blame(`closed with ${code}`, frames);
    for (const message of messages) {
      const { type, payload } = message;
      if (!TYPES.has(type)) blame(`a message of type ${String(type)}`, frames);
      if (type === 'next' && !isResult(payload))
        blame(`no result of GraphQL: ${JSON.stringify(message).slice(0, 300)}`, frames);
      if (type === 'error' && !Array.isArray(payload))
        blame(`no list of errors: ${JSON.stringify(message).slice(0, 300)}`, frames);
      judge(type === 'error' ? { errors: payload } : payload, frames);
    }
  };

  await each(requests, http);
  await each(sockets, socket);
  return { wrong, counts };
}

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

function requestOf(random: Random, inputs: FuzzInputs, { token }: FuzzTarget): Sent {
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
  if (random.chance(0.05)) headers['apollo-require-preflight'] = 'yes';
  if (method !== 'GET') return { method, path: '/graphql', headers, body: inputs.body() };
  const search = new URLSearchParams({
    query: inputs.document(),
    ...(random.chance(0.5) ? { variables: JSON.stringify(inputs.json(2)) } : {}),
  });
  return {
    method,
    path: `/graphql?${random.chance(0.9) ? search.toString() : inputs.broken(search.toString()).replaceAll(/[^\x21-\x7e]/g, '')}`,
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

async function each(count: number, act: (at: number) => Promise<void>): Promise<void> {
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < count) await act(next++);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}
