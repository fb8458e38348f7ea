/** The attacks of `abuse.ts`; as a thread, the attacker. All come from one address. */
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import { constants, setPriority } from 'node:os';
import { isMainThread, workerData } from 'node:worker_threads';
import { WebSocket } from 'ws';

export interface Attacked {
  /** a name in ATTACKS */
  readonly attack: string;
  /** without a path */
  readonly hub: string;
  readonly explorer: string;
  /** one number: requests, messages and pings sent so far */
  readonly sent: Int32Array;
}

type Attack = (at: Attacked) => Promise<void>;

const AT_ONCE = 16;
const HEADERS = { 'x-forwarded-for': '203.0.113.1' };
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
const MANY_ROWS = JSON.stringify({
  query: `{ ${Array.from({ length: 10 }, (_, at) => `a${at}: listRideRequests { ${ALL} }`).join(' ')} }`,
});
const WRONG_SIGN_IN = (): string =>
  JSON.stringify({
    query: `mutation { generateToken(publicKey: "0x7e5f4552091a69125d5dfcb7b8c2659029395bdf", timestamp: ${Math.floor(Date.now() / 1_000)},
      signature: {r: "0x${'5b'.repeat(32)}", s: "0x${'67'.repeat(32)}", v: 27}) { token } }`,
  });
/** 291 tokens, which are 300 at most, and many pairs of fields; each is another text. */
let documents = 0;
const EXPENSIVE = (): string => {
  const fields = 'listRideRequests { pickupLocation { latitude } } '.repeat(41);
  return JSON.stringify({ query: `query q${documents++} { ${fields} }` });
};
const METHODS = ['PROPFIND', 'PURGE', 'MKCOL', 'REPORT', 'LOCK', 'GET'];

export const ATTACKS: Readonly<Record<string, Attack>> = {
  'bad variables': ({ hub }) => flood(() => send(`${hub}/graphql`, VARIABLES)),
  'lists of all rows': ({ hub }) =>
    flood(async () => {
      const { status, bytes } = await send(`${hub}/graphql`, MANY_ROWS);
      if (status === 200 && bytes < 1_000_000) fail(`the lists have ${bytes} bytes`);
    }),
  'answers that nobody reads': unread,
  'answers on sockets that nobody reads': unreadOnSockets,
  'subscriptions of their own': subscriptions,
  'expensive documents': ({ hub }) =>
    flood(async () => {
      const { status, begin } = await send(`${hub}/graphql`, EXPENSIVE());
      if (status !== 429 && !begin.includes('the query is too large')) fail(`${status}: ${begin}`);
    }),
  'pings and pongs': pings,
  'wrong sign-ins': ({ hub }) => flood(() => send(`${hub}/graphql`, WRONG_SIGN_IN())),
  'probes with made-up methods': async ({ hub, explorer }) => {
    let turn = 0;
    await flood(() => {
      const method = METHODS[++turn % METHODS.length] ?? 'GET';
      return send(`${turn % 2 === 0 ? hub : explorer}/ready`, undefined, method);
    });
  },
  'pages of the explorer': async ({ explorer }) => {
    let turn = 0;
    await flood(() =>
      send(`${explorer}/api/v1/transactions?limit=100&type=RidePay&x=${turn++}`, undefined, 'GET'),
    );
  },
};

const { sent: count = new Int32Array(1) }: Partial<Attacked> = workerData ?? {};
const countSent = (more: number): void => void Atomics.add(count, 0, more);
const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });

/** An attack that does not do what it says must not count: ends the bench. */
function fail(why: string): void {
  queueMicrotask(() => {
    throw new Error(why);
  });
}

/** So many at once, for ever. */
async function flood(one: () => Promise<unknown>): Promise<void> {
  const lane = async (): Promise<void> => {
    for (;;) await one().catch(() => undefined);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
}

async function send(
  url: string,
  body: string | undefined,
  method = 'POST',
): Promise<{ readonly status: number; readonly bytes: number; readonly begin: string }> {
  const type = body === undefined ? {} : { 'content-type': 'application/json' };
  const sent = request(url, { agent, method, headers: { ...HEADERS, ...type } });
  sent.end(body);
  countSent(1);
  const [response] = await once(sent, 'response');
  let bytes = 0;
  let begin = '';
  response.on('data', (piece: Buffer) => {
    if (bytes === 0) begin = piece.toString('utf8', 0, 500);
    bytes += piece.length;
  });
  await once(response, 'end');
  return { status: response.statusCode, bytes, begin };
}

/** Large answers on many connections, of which none is read. */
async function unread({ hub }: Attacked): Promise<void> {
  const { hostname, port } = new URL(hub);
  const head = `POST /graphql HTTP/1.1\r\nhost: ${hostname}\r\nx-forwarded-for: 203.0.113.1\r\ncontent-type: application/json\r\n`;
  const piece = `${head}content-length: ${MANY_ROWS.length}\r\n\r\n${MANY_ROWS}`;
  const open = async (): Promise<void> => {
    const socket = connect(Number(port), hostname).pause();
    socket.write(piece.repeat(5));
    countSent(5);
    await once(socket, 'close');
  };
  // connections that are not read do not keep a thread alive
  setInterval(() => undefined, 1_000);
  await Promise.all(
    Array.from({ length: 100 }, async () => {
      for (;;) await open().catch(() => undefined);
    }),
  );
}

/** As many sockets as one client gets, opened again when they are closed or refused. */
async function sockets(hub: string, act: (socket: WebSocket, at: number) => void): Promise<void> {
  const url = `${hub.replace('http', 'ws')}/graphql/ws`;
  const open = async (at: number): Promise<void> => {
    const socket = new WebSocket(url, 'graphql-transport-ws', { headers: HEADERS });
    socket.on('error', () => undefined);
    socket.on('open', () => socket.send('{"type":"connection_init"}'));
    socket.once('message', () => act(socket, at));
    await once(socket, 'close');
  };
  await Promise.all(
    Array.from({ length: 100 }, async (_, at) => {
      for (;;) await open(at).catch(() => undefined);
    }),
  );
}

/** As many different subscriptions as a socket gets. */
function subscriptions({ hub }: Attacked): Promise<void> {
  return sockets(hub, (socket, at) => {
    socket.on('message', (data: Buffer) => {
      if (data.includes('"errors"') && !data.includes('RATE_LIMITED')) fail(data.toString());
    });
    for (let more = 0; more < 20; more++) {
      const aliases = Array.from({ length: 10 }, (_, k) => `a${at}_${more}_${k}: txHash`);
      const query = `subscription { rideRequestsUpdated { ${aliases.join(' ')} ${ALL} } }`;
      socket.send(JSON.stringify({ id: String(more), type: 'subscribe', payload: { query } }));
    }
    countSent(20);
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
      if (code !== 1008 && code !== 1006) fail(`a socket was closed with ${code}`);
    });
  });
}

if (!isMainThread) {
  // on Linux this concerns this thread alone, and an attacker has a machine of its own
  setPriority(constants.priority.PRIORITY_LOW);
  const attacked: Attacked = workerData;
  await ATTACKS[attacked.attack]?.(attacked);
}
