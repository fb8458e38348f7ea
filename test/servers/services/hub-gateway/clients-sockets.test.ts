/** Clients of GraphQL over sockets, as they come and with the client of the package for wallets. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { createClient, type Client as SocketClient } from 'graphql-ws';
import { WebSocket } from 'ws';
import { afterAll, afterEach, beforeAll, expect, inject, onTestFinished, test, vi } from 'vitest';
import { socketClient } from '../../../../packages/wallet/src/index.ts';
import { HubWorld } from '../../../services/hub-gateway/hub-world.ts';
import {
  apollo,
  plain,
  QUERY,
  relay,
  urql,
  type Seen,
  type Subscribe,
} from '../../../services/hub-gateway/socket-clients.ts';
import { goodToken, SECRET } from '../../../support/tokens.ts';
import { walletOf } from '../../../support/wallets.ts';

const rider = walletOf('raw', 'subscriber');

let world: HubWorld;
let balance = 0n;
const stops: (() => unknown)[] = [];

beforeAll(async () => {
  // the hub's own clock of pings, which the test of a sleep moves
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  world = await HubWorld.open(inject('stack'));
  await change();
});
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});
afterAll(async () => {
  await world.close();
  vi.useRealTimers();
});

/** The balance of the rider changes. */
async function change(): Promise<void> {
  await world.fund(rider.account, 1n);
  balance += 1n;
}

/** A subscription that shows the balance of now. */
async function begin(subscribe: Subscribe, client: SocketClient): Promise<Seen> {
  const seen: Seen = { balances: [], ends: [] };
  const stop = subscribe(rider.account, client, seen);
  stops.unshift(() => client.dispose());
  stops.unshift(stop);
  await shows(seen);
  return seen;
}

async function shows({ balances }: Seen): Promise<void> {
  await expect.poll(() => balances.at(-1)).toBe(String(balance));
}

function defaults(): SocketClient {
  return createClient({ url: world.socket_url });
}
function ready(): SocketClient {
  return socketClient({ url: `${world.url}/graphql` });
}

async function follows(subscribe: Subscribe, client: SocketClient): Promise<void> {
  const seen = await begin(subscribe, client);
  await change();
  await shows(seen);
  expect(seen.ends).toEqual([]);
}

test('graphql-ws with its defaults shows each change', () => follows(plain, defaults()));

test('Apollo Client shows each change by GraphQLWsLink', () => follows(apollo, defaults()));

test('urql shows each change by subscriptionExchange', () => follows(urql, defaults()));

test("Relay's network layer shows each change by its function of subscriptions", () =>
  follows(relay, defaults()));

test('the client of the package shows each change', () => follows(plain, ready()));

test('a restart of the hub ends no subscription of the client of the package, alone or in Apollo Client, urql and Relay', async () => {
  const all = await Promise.all([
    ...[plain, apollo, urql, relay].map((each) => begin(each, ready())),
    // for Node before 22
    begin(plain, socketClient({ url: `${world.url}/graphql` }, { webSocketImpl: WebSocket })),
  ]);
  await world.restart(change);
  for (const seen of all) {
    await shows(seen);
    expect(seen.ends).toEqual([]);
  }
});

test('a restart of the hub ends the subscription of graphql-ws with its defaults, after it has said to connect again', async () => {
  const client = defaults();
  const reasons: unknown[] = [];
  client.on('closed', (event) => void reasons.push(Object(event).reason));
  const seen = await begin(plain, client);
  await world.restart(() => expect.poll(() => seen.ends).toHaveLength(1));
  expect(reasons[0]).toBe('the hub is going away: connect again');
});

test('a sleep of 40 s loses nothing', async () => {
  const script = `
    import { socketClient } from ${JSON.stringify(import.meta.resolve('../../../../packages/wallet/src/index.ts'))};
    const client = socketClient({ url: ${JSON.stringify(`${world.url}/graphql`)} });
    const tell = (told) => process.stdout.write(JSON.stringify(told) + '\\n');
    client.on('connected', () => tell('connected'));
    client.subscribe(
      { query: ${JSON.stringify(QUERY)}, variables: ${JSON.stringify({ key: rider.account })} },
      { next: ({ data }) => tell(data.accountBalanceUpdated), error: tell, complete: () => tell('complete') },
    );`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const told: unknown[] = [];
  createInterface(child.stdout).on('line', (line) => told.push(JSON.parse(line)));
  await expect.poll(() => told).toEqual(['connected', String(balance)]);
  child.kill('SIGSTOP');
  vi.advanceTimersByTime(40_000);
  await expect.poll(() => world.figure('hub_sockets')).toBe(0);
  const before = String(balance);
  await change();
  child.kill('SIGCONT');
  await expect.poll(() => told).toEqual(['connected', before, 'connected', String(balance)]);
  child.kill('SIGKILL');
  await once(child, 'close');
});

/** Runs while timers stand still, then lets this time pass. The pings of before do not go on. */
async function at(time_ms: number, act: () => Promise<void>): Promise<void> {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
  await act();
  vi.advanceTimersByTime(time_ms);
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
}

test('a wallet that takes two minutes over the token of graphql-ws with its defaults is asked once', async () => {
  const wallet = Promise.withResolvers<string>();
  let asked = 0;
  const connectionParams = async (): Promise<Record<string, unknown>> => {
    asked++;
    return { Authorization: `Bearer ${await wallet.promise}` };
  };
  const client = createClient({ url: world.socket_url, connectionParams });
  const told = new Promise((resolve) =>
    client.on('connected', (_socket, payload) => resolve(payload)),
  );
  const seen: Seen = { balances: [], ends: [] };
  stops.push(plain(rider.account, client, seen));
  await at(120_000, () => vi.waitFor(() => expect(asked).toBe(1)));
  const exp = Math.floor(Date.now() / 1_000) + 60;
  wallet.resolve(goodToken({ pk: rider.account, exp }, SECRET));
  expect(await told).toEqual({ signedIn: true, account: rider.account, expiresAt: exp });
  await shows(seen);
  expect([asked, seen.ends]).toEqual([1, []]);
});

test('a token under another key, a broken one and an expired one are told apart in connection_ack', async () => {
  const now = Math.floor(Date.now() / 1_000);
  const good = goodToken({ pk: rider.account, exp: now + 60 }, SECRET);
  const old = goodToken({ pk: rider.account, exp: now - 1 }, SECRET);
  const told: unknown[] = [];
  for (const connectionParams of [
    { authorization: `Bearer ${good}` },
    { Authorization: `Bearer ${good.slice(0, -3)}` },
    { Authorization: `Bearer ${old}` },
    {},
    { Authorization: `Bearer ${good}` },
  ]) {
    const client = createClient({ url: world.socket_url, connectionParams });
    client.on('connected', (_socket, payload) => void told.push(payload));
    await begin(plain, client);
  }
  expect(told.map((payload) => Object(payload).code ?? Object(payload).account)).toEqual([
    'TOKEN_MISPLACED',
    'TOKEN_INVALID',
    'TOKEN_EXPIRED',
    'TOKEN_MISSING',
    rider.account,
  ]);
});
