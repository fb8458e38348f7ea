/** The attacks of `abuse.ts`; as a program, the attacker. All come from one address. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { connect, Socket } from 'node:net';
import { setTimeout as after } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { DEVELOPMENT_JWT_SECRET } from '../../schemas/development.ts';
import type { LimitName } from '../../services/runtime/limits/limits.ts';
import { goodToken } from '../support/tokens.ts';

export interface Attacked {
  /** a name in ATTACKS */
  readonly attack: string;
  /** without a path */
  readonly hub: string;
  readonly explorer: string;
  readonly deposits: string;
  /** an account of the explorer with many transactions, 0x + hex */
  readonly busy_account: string;
}

/** So far. */
export interface Counts {
  /** requests, messages and pings */
  sent: number;
  /** answers 200 to new addresses */
  addresses: number;
}

interface Attack {
  /** what stops it */
  readonly limit: LimitName;
  readonly run: (at: Attacked) => Promise<void>;
}

const AT_ONCE = 16;
const counts: Counts = { sent: 0, addresses: 0 };
const countSent = (more: number): void => void (counts.sent += more);
const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });
/** All attacks come from this address. */
const FROM = { localAddress: '127.2.0.1' };
const ALL =
  'txHash pickupLocation { latitude longitude } dropoffLocation { latitude longitude } fare passengerAddress referrer';

const VARIABLES = JSON.stringify({
  query: 'query ($b: MapBoundsInput) { listRideRequests(bounds: $b) { txHash } }',
  variables: {
    b: Object.fromEntries([
      ['text', 'x'.repeat(250_000)],
      ...Array.from({ length: 60 }, (_, at) => [`unknown${at}`, at] as const),
    ]),
  },
});
const LISTS = Array.from({ length: 10 }, (_, at) => `a${at}: listRideRequests { ${ALL} }`).join(
  ' ',
);
const MANY_ROWS = JSON.stringify({ query: `{ ${LISTS} }` });
const WRONG_SIGN_IN = (): string =>
  JSON.stringify({
    query: `mutation { generateToken(publicKey: "0x7e5f4552091a69125d5dfcb7b8c2659029395bdf", timestamp: ${Math.floor(Date.now() / 1_000)},
      signature: {r: "0x${'5b'.repeat(32)}", s: "0x${'67'.repeat(32)}", v: 27}) { token } }`,
  });
let documents = 0;
/** Each is another text, whose answer no other request waits for. */
const OWN_LISTS = (): string => JSON.stringify({ query: `query q${documents++} { ${LISTS} }` });
/** Each row has the alias, of so many bytes. */
const LONG_ALIAS = (): string =>
  JSON.stringify({ query: `{ listRideRequests { ${'a'.repeat(16_000)}${documents++}: txHash } }` });
/** 291 tokens, which are 300 at most, and many pairs of fields; each is another text. */
const EXPENSIVE = (): string => {
  const fields = 'listRideRequests { pickupLocation { latitude } } '.repeat(41);
  return JSON.stringify({ query: `query q${documents++} { ${fields} }` });
};
const TYPES = ['RideRequest', 'RideAcceptance', 'Mint'] as const;
const METHODS = ['PROPFIND', 'PURGE', 'MKCOL', 'REPORT', 'LOCK', 'GET'];

/** A list of numbers, 4 MB of text and eight times that once it is read. */
const LONG = `{"query":"{ __typename }","variables":{"x":[${'0,'.repeat(2_000_000)}0]}}`;

export const ATTACKS: Readonly<Record<string, Attack>> = {
  'pings and pongs': { limit: 'rate', run: pings },
  'pages of the explorer': {
    limit: 'rate',
    run: ({ explorer }) =>
      flood((turn) => send(`${explorer}/api/v1/transactions?limit=100&offset=${turn * 100}`)),
  },
  'probes with made-up methods': {
    limit: 'rate',
    run: ({ hub, explorer }) =>
      flood((turn) => {
        const method = METHODS[turn % METHODS.length] ?? 'GET';
        return send(`${turn % 2 === 0 ? hub : explorer}/ready`, { method });
      }),
  },
  'wrong sign-ins': {
    limit: 'rate',
    run: ({ hub }) => flood(() => send(`${hub}/graphql`, { body: WRONG_SIGN_IN() })),
  },
  'forged tokens': {
    limit: 'rate',
    run: ({ deposits }) => {
      const authorization = `Bearer ${goodToken({ pk: '0x', exp: 0 }, 'another secret')}`;
      return flood(() => send(`${deposits}/api/v1/deposits`, { headers: { authorization } }));
    },
  },
  'new addresses': { limit: 'addresses', run: newAddresses },
  'connections that stay open': { limit: 'connections', run: connections },
  'requests in one packet': { limit: 'connections', run: pipelined },
  'long bodies': {
    limit: 'bytes',
    // of a length that is not said before
    run: ({ hub }) =>
      flood(() =>
        send(`${hub}/graphql`, { body: LONG, headers: { 'transfer-encoding': 'chunked' } }),
      ),
  },
  'messages in pieces': { limit: 'bytes', run: pieces },
  'bad variables': {
    limit: 'documents',
    run: ({ hub }) => flood(() => send(`${hub}/graphql`, { body: VARIABLES })),
  },
  'expensive documents': {
    limit: 'documents',
    run: ({ hub }) => flood(() => send(`${hub}/graphql`, { body: EXPENSIVE() })),
  },
  'long aliases': {
    limit: 'documents',
    run: ({ hub }) => flood(() => send(`${hub}/graphql`, { body: LONG_ALIAS() })),
  },
  'documents on many sockets': { limit: 'starts', run: documentsOnSockets },
  'lists of all rows': {
    limit: 'turns',
    run: ({ hub }) =>
      flood(async () => {
        const { status, bytes } = await send(`${hub}/graphql`, { body: OWN_LISTS() });
        if (status === 200 && bytes < 1_000_000) fail(`the lists have ${bytes} bytes`);
      }),
  },
  'lists for many accounts': {
    limit: 'turns',
    run: ({ hub }) => {
      const tokens = accounts(200);
      return flood((turn) => {
        const authorization = `Bearer ${tokens[turn % tokens.length]}`;
        return send(`${hub}/graphql`, { body: OWN_LISTS(), headers: { authorization } });
      });
    },
  },
  'answers that nobody reads': { limit: 'turns', run: unread },
  'answers on sockets that nobody reads': { limit: 'turns', run: unreadOnSockets },
  'subscriptions that fill the memory': {
    limit: 'subscriptions',
    // long results, and short ones for what is left beside them
    run: ({ hub }) => subscribed(hub, (at) => [100, 10, 10, 10][at % 20] ?? 1),
  },
  'many subscriptions': {
    limit: 'turns',
    run: ({ hub }) => subscribed(hub, (at) => (at % 100) + 1),
  },
  'scans of a busy account': {
    limit: 'long_reads',
    run: ({ explorer, busy_account: address }) =>
      flood((turn) => {
        const filters = `address=${address}&type=${TYPES[turn % TYPES.length]}`;
        return send(`${explorer}/api/v1/transactions?${filters}&limit=100&offset=${9_000 + turn}`);
      }),
  },
  exports: {
    limit: 'long_reads',
    run: ({ explorer }) => flood(() => send(`${explorer}/api/v1/export/transactions.csv`)),
  },
};

/** An attack that does not do what it says must not count: ends the bench. */
function fail(why: string): void {
  queueMicrotask(() => {
    throw new Error(why);
  });
}

/** So many at once, for ever. */
async function flood(one: (turn: number) => Promise<unknown>): Promise<void> {
  let turn = 0;
  const lane = async (): Promise<void> => {
    for (;;) await one(turn++).catch(() => undefined);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
}

interface Sent {
  /** JSON; default: none */
  readonly body?: string;
  /** default: POST with a body, otherwise GET */
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

async function send(
  url: string,
  { body, method = body === undefined ? 'GET' : 'POST', headers = {} }: Sent = {},
): Promise<{ readonly status: number; readonly bytes: number }> {
  const type = body === undefined ? {} : { 'content-type': 'application/json' };
  const sent = request(url, { ...FROM, agent, method, headers: { ...type, ...headers } });
  // an answer may come before the body is sent
  sent.on('error', () => undefined).end(body);
  countSent(1);
  const [response] = await once(sent, 'response');
  let bytes = 0;
  response.on('data', (piece: Buffer) => (bytes += piece.length));
  await once(response, 'end');
  return { status: response.statusCode, bytes };
}

/** Tokens, each of an account that nobody has used before. A sign-in costs an attacker a key. */
function accounts(count: number): readonly string[] {
  const exp = Math.floor(Date.now() / 1_000) + 3_600;
  return Array.from({ length: count }, () => {
    const pk = `0x${randomBytes(20).toString('hex')}`;
    return goodToken({ pk, exp }, DEVELOPMENT_JWT_SECRET);
  });
}

function newAddresses({ deposits }: Attacked): Promise<void> {
  return flood(async () => {
    const authorization = `Bearer ${accounts(1)[0]}`;
    const { status } = await send(`${deposits}/api/v1/deposits`, {
      method: 'POST',
      headers: { authorization },
    });
    if (status === 200) counts.addresses++;
  });
}

/** Connections that the attacker opens at first, and again: more are for a firewall to stop. */
const [BEGUN_PER_SECOND, OPENED_PER_SECOND] = [2_000, 200];

/** Connections to a server, each opened again after it is closed. */
async function connected(
  url: string,
  most: number,
  act: (socket: Socket, host: string) => void,
): Promise<void> {
  const { hostname, port } = new URL(url);
  const open = async (): Promise<void> => {
    const socket = connect({ port: Number(port), host: hostname, ...FROM });
    socket.on('error', () => undefined);
    act(socket, hostname);
    await once(socket, 'close');
    await after((most / OPENED_PER_SECOND) * 1_000);
  };
  await Promise.all(
    Array.from({ length: most }, async (_, at) => {
      await after((at / BEGUN_PER_SECOND) * 1_000);
      for (;;) await open().catch(() => undefined);
    }),
  );
}

/** More than a server has, each with a request now and then. */
function connections({ explorer }: Attacked): Promise<void> {
  return connected(explorer, 12_000, (socket, host) => {
    socket.write(`GET /health HTTP/1.1\r\nhost: ${host}\r\n\r\n`);
    socket.resume();
    countSent(1);
  });
}

function pipelined({ explorer }: Attacked): Promise<void> {
  return connected(explorer, 4, (socket, host) => {
    const packet = `GET /api/v1/stats HTTP/1.1\r\nhost: ${host}\r\n\r\n`.repeat(2_000);
    const write = (): void => {
      countSent(2_000);
      if (socket.write(packet)) setImmediate(write);
    };
    socket.on('connect', write).on('drain', write).resume();
  });
}

/**
 * Large answers, as often as the hub makes them for accounts of one address, on many connections.
 * A piece of each is read now and then, so that none is closed.
 */
async function unread({ hub }: Attacked): Promise<void> {
  const tokens = accounts(200);
  const open: Socket[] = [];
  let turn = 0;
  const ask = (host: string): void => {
    const body = OWN_LISTS();
    const lines = [
      'POST /graphql HTTP/1.1',
      `host: ${host}`,
      `authorization: Bearer ${tokens[turn % tokens.length]}`,
      'content-type: application/json',
      `content-length: ${body.length}`,
    ];
    open[turn++ % open.length]?.write(`${lines.join('\r\n')}\r\n\r\n${body}`);
    countSent(1);
  };
  setInterval(() => ask(new URL(hub).host), 1_000);
  setInterval(() => {
    for (const socket of open) socket.resume();
  }, 20_000);
  await connected(hub, 100, (socket) => {
    open.push(socket.on('data', () => socket.pause()).pause());
    socket.once('close', () => open.splice(open.indexOf(socket), 1));
  });
}

/** Sockets that are opened again when they are closed or refused. `tokens`: of each in turn. */
async function sockets(
  hub: string,
  act: (socket: WebSocket, at: number) => void,
  most = 100,
  tokens: readonly string[] = [],
): Promise<void> {
  const url = `${hub.replace('http', 'ws')}/graphql/ws`;
  const open = async (at: number): Promise<void> => {
    const socket = new WebSocket(url, 'graphql-transport-ws', FROM);
    socket.on('error', () => undefined);
    const token = tokens[at % tokens.length];
    const payload = token === undefined ? {} : { Authorization: `Bearer ${token}` };
    socket.on('open', () => socket.send(JSON.stringify({ type: 'connection_init', payload })));
    socket.once('message', () => act(socket, at));
    await once(socket, 'close').catch(() => undefined);
    await after((most / OPENED_PER_SECOND) * 1_000);
  };
  await Promise.all(
    Array.from({ length: most }, async (_, at) => {
      await after((at / OPENED_PER_SECOND) * 1_000);
      for (;;) await open(at).catch(() => undefined);
    }),
  );
}

/** As many different subscriptions as a socket gets, each of so many rows or of one. */
function subscribed(hub: string, rowsOf: (at: number) => number): Promise<void> {
  const act = (socket: WebSocket, at: number): void => {
    const rows = Array.from({ length: 20 }, (_, more) => rowsOf(at * 20 + more));
    const subscribe = (id: number, length: number): void => {
      rows[id] = length;
      const aliases = Array.from({ length: length > 1 ? 10 : 1 }, (_, k) => `a${at}_${id}_${k}`);
      const fields = aliases.map((alias) => `${alias}: txHash`).join(' ');
      const query = `subscription { rideRequestsUpdated(limit: ${length}) { ${fields} } }`;
      socket.send(JSON.stringify({ id: String(id), type: 'subscribe', payload: { query } }));
      countSent(1);
    };
    socket.on('message', (data: Buffer) => {
      const text = data.toString();
      if (!text.includes('"errors"') && !text.includes('"error"')) return;
      if (!text.includes('RATE_LIMITED')) return fail(text);
      const id = Number(JSON.parse(text).id);
      if (text.includes('too many different'))
        setTimeout(subscribe, 250, id, (rows[id] ?? 0) > 10 ? 10 : 1);
    });
    for (const [id, length] of rows.entries()) subscribe(id, length);
  };
  return sockets(hub, act, 100, accounts(100));
}

/** Twenty at once on each socket, each of another text. */
function documentsOnSockets({ hub }: Attacked): Promise<void> {
  return sockets(hub, (socket) => {
    let id = 0;
    const ask = (): void => {
      const fields = Array.from({ length: 10 }, (_, at) => `a${at}: chainInfo { chainId txFee }`);
      const query = `query q${documents++} { ${fields.join(' ')} }`;
      socket.send(JSON.stringify({ id: String(id++), type: 'subscribe', payload: { query } }));
      countSent(1);
    };
    for (let more = 0; more < 20; more++) ask();
    socket.on('message', (data: Buffer) => {
      const isOver = data.includes('"type":"complete"') || data.includes('"type":"error"');
      if (isOver) ask();
    });
  });
}

/** Large answers on all sockets, of which one is read, to see what they are. */
function unreadOnSockets({ hub }: Attacked): Promise<void> {
  // sockets that are not read do not keep a thread alive
  setInterval(() => undefined, 1_000);
  return sockets(hub, (socket, at) => {
    if (at > 0) socket.pause();
    socket.on('message', (data: Buffer) => {
      const isOther = data.includes('"type":"complete"') || data.includes('"type":"ping"');
      if (!isOther && data.length < 1_000_000 && !data.includes('RATE_LIMITED'))
        fail(`an answer has ${data.length} bytes: ${data.toString()}`);
    });
    for (let more = 0; more < 20; more++)
      socket.send(`{"id":"${more}","type":"subscribe","payload":${MANY_ROWS}}`);
    countSent(20);
  });
}

/** Each of one byte, of messages that do not end. */
function pieces({ hub }: Attacked): Promise<void> {
  return sockets(hub, sendPieces, 500);
}

/** Frames of one byte, masked with zeros: the first of a text, and those that follow. */
const PIECES = Buffer.concat([
  Buffer.from([0x01, 0x81, 0, 0, 0, 0, 0x61]),
  ...Array.from({ length: 30_000 }, () => Buffer.from([0x00, 0x81, 0, 0, 0, 0, 0x61])),
]);

function sendPieces(socket: WebSocket): void {
  const raw: unknown = Reflect.get(socket, '_socket');
  if (raw instanceof Socket) raw.write(PIECES);
  countSent(30_000);
}

/** As many as the hub takes until it closes the socket. */
function pings({ hub }: Attacked): Promise<void> {
  return sockets(hub, (socket) => {
    const sending = setInterval(() => {
      for (let more = 0; more < 100 && socket.readyState === socket.OPEN; more++) {
        socket.ping();
        socket.pong();
        countSent(2);
      }
    }, 1);
    socket.once('close', (code) => {
      clearInterval(sending);
      // 1006 when the reset of the connection overtakes the code
      if (code !== 1013 && code !== 1006) fail(`a socket was closed with ${code}`);
    });
  });
}

const COUNTED_MS = 100;
if (import.meta.main) {
  const attacked: Attacked = JSON.parse(process.argv[2] ?? '');
  setInterval(() => process.send?.(counts), COUNTED_MS);
  await ATTACKS[attacked.attack]?.run(attacked);
}
