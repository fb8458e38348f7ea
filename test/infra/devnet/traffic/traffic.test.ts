import { expect, onTestFinished, test, vi } from 'vitest';
import {
  blockTimer,
  nextIntention,
  seededRandom,
} from '../../../../infra/devnet/traffic/traffic.ts';
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

/** The times of the blocks of a timer of 20 ms in the first `until_ms`. */
function blockTimes(until_ms: number, takes: (block: number) => number): readonly number[] {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers().restoreAllMocks());
  let clock = 0;
  const times: number[] = [];
  const produce = (at: number): void => {
    times.push(at);
    clock += takes(times.length);
  };
  vi.spyOn(performance, 'now').mockImplementation(() => clock);
  const enable = blockTimer({ produce }, 20, () => clock);
  enable(true);
  while (clock < until_ms) {
    clock++;
    vi.advanceTimersByTime(1);
  }
  enable(false);
  expect(vi.getTimerCount()).toBe(0);
  return times;
}

test('blocks keep their interval however long each takes to make', () => {
  expect(blockTimes(100, () => 3)).toEqual([20, 40, 60, 80, 100]);
});

test('after a stall two of the blocks that were due follow at once', () => {
  expect(blockTimes(240, (block) => (block === 2 ? 95 : 0))).toEqual([
    20, 40, 136, 137, 155, 175, 195, 215, 235,
  ]);
});
