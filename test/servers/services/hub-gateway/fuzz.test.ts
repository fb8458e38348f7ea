import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { walletOf } from '../../../support/wallets.ts';
import { fuzzSockets, operationsOf } from '../../../services/hub-gateway/fuzz.ts';
import { HubWorld } from '../../../services/hub-gateway/hub-world.ts';
import { fuzz } from '../../../services/runtime/http/fuzz.ts';

const wallet = walletOf('raw', 'fuzz');
let world: HubWorld;

beforeAll(async () => {
  world = await HubWorld.open(inject('stack'), {
    settings: { APP_SOCKETS_PER_CLIENT_MAX: '1000' },
  });
  await world.fund(wallet.account, 10_000_000n);
});
afterAll(() => world.close());

test('random operations, variables, tokens and socket messages get well-formed responses and no fault', async () => {
  const token = await world.signIn(wallet);
  const stranger = await world.signIn(walletOf('tron', 'fuzz stranger'));
  const place = 'pickupLatitude: 1, pickupLongitude: 1, dropoffLatitude: 2, dropoffLongitude: 2';
  const requested = await world.send(
    wallet,
    token,
    `createUnsignedRideRequest(${place}, fare: "5")`,
  );
  await world.block();
  const hub = { url: world.url, token: stranger, known: [requested, wallet.account] };
  const counts: Record<string, number> = {};
  const operations = operationsOf(hub, (what) => {
    counts[what] = (counts[what] ?? 0) + 1;
  });
  const { wrong } = await fuzz(operations, { inputs: 600, seed: 7 });
  const sockets = await fuzzSockets(hub, { inputs: 80, seed: 7 });
  expect([...wrong, ...sockets.wrong]).toEqual([]);
  expect(world.lines.filter((line) => JSON.parse(line).level === 'error')).toEqual([]);
  // the requests alone, which do not depend on time, reach each kind of error
  for (const code of [
    'BAD_USER_INPUT',
    'FORBIDDEN',
    'GRAPHQL_PARSE_FAILED',
    'GRAPHQL_VALIDATION_FAILED',
    'NOT_FOUND',
    'UNAUTHENTICATED',
  ])
    expect([code, (counts[code] ?? 0) > 0]).toEqual([code, true]);
  expect(counts['data']).toBeGreaterThan(20);
});
