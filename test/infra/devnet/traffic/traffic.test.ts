import { expect, test } from 'vitest';
import { nextIntention, seededRandom } from '../../../../infra/devnet/traffic/traffic.ts';
import { World, testGenesis } from '../../../support/clt-world.ts';

test('traffic makes every call that leaves the supply as it is, and all of it is valid', () => {
  const world = new World();
  const random = seededRandom('people');
  const taken = new Map<string, number>();
  let refused = 0;
  for (let turn = 0; turn < 3_000; turn++) {
    const { key, call } = nextIntention(world.state.rows, world.genesis.cast, random);
    const result = world.act(key.address, call);
    if ('refused' in result) refused++;
    else taken.set(call.function_call_type, (taken.get(call.function_call_type) ?? 0) + 1);
  }
  expect([...taken.keys()].toSorted()).toEqual([
    'RideAcceptance',
    'RideCancel',
    'RideOffer',
    'RidePay',
    'RideRequest',
    'RideRequestCancel',
    'Transfer',
  ]);
  expect(refused).toBe(0);
  expect(world.state.rows.supply).toEqual(world.genesis.rows().supply);
  expect(world.state.rows.requests.size).toBeLessThan(60);
  expect(world.state.rows.trips.size).toBeLessThan(60);
});

test('the faucet funds a poor account instead of its next call', () => {
  const genesis = testGenesis();
  const rows = genesis.rows();
  for (const { address } of [
    ...genesis.cast.passengers,
    ...genesis.cast.drivers,
    ...genesis.cast.validators,
  ])
    rows.accounts.set(address, { balance: 5n, nonce: 0 });
  const { key, call } = nextIntention(rows, genesis.cast, seededRandom('poor'));
  expect(key.address).toBe(genesis.cast.faucet.address);
  expect(call.function_call_type).toBe('Transfer');
});
