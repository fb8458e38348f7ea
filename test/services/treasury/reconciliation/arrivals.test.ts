import { expect, test } from 'vitest';
import { statusOf, surplusOf } from '../../../../projections/reserve/position.ts';
import { toTronAddress } from '../../../../schemas/tron-address.ts';
import { Fault } from '../../../../services/runtime/process/errors.ts';
import { BAD_ANSWER } from '../../../../services/runtime/trongrid/trongrid.ts';
import { named } from '../../../support/chain-by-hand.ts';
import { ALICE, BOB, CUSTODY, DAY_MS, Simulated, USD, world } from './simulated.ts';

const MINUTE_MS = 60_000;
const DAY_MINUTES = 1_440;

test('transfers that the ledger lacks are told to the watcher until the ledger has them', async () => {
  const simulated = world();
  await simulated.measure();
  expect(simulated.arrivals.found).toEqual([]);
  const tx_id = simulated.pay(BOB, 3n * USD).toString('hex');
  await simulated.measure();
  expect(simulated.arrivals.found).toEqual([{ address: toTronAddress(BOB), tron_tx_id: tx_id }]);
  simulated.confirm(Buffer.from(tx_id, 'hex'));
  const next = simulated.pay(ALICE, 3n * USD).toString('hex');
  await simulated.measure();
  expect(simulated.arrivals.found.map(({ tron_tx_id: tronTxId }) => tronTxId)).toEqual([next]);
});

test.each(['list', 'receipt'])(
  'a %s that is for ever a bad answer hides no other transfer, and is no end of the run',
  async (which) => {
    const simulated = world();
    const lame = simulated.pay(BOB, 5n * USD);
    simulated.pay(ALICE, 7n * USD);
    const bad = which === 'list' ? BOB : lame;
    simulated.beforeSearch = (asked) => {
      if (asked.equals(bad)) throw new Fault(BAD_ANSWER, 'malformed', { retry: true });
    };
    for (let run = 0; run < 3; run++) {
      const { position } = await simulated.measure();
      expect([statusOf(position, USD), surplusOf(position)]).toEqual([
        'over_backed_drift',
        5n * USD,
      ]);
      simulated.head += 60 * MINUTE_MS;
    }
    expect(simulated.bad_answers).toEqual([BOB, BOB, BOB]);
    simulated.beforeSearch = () => {};
    expect(statusOf((await simulated.measure()).position, USD)).toBe('ok');
  },
);

/** Minutes after `from` in which transfers are listed, of a run in each minute up to `to`. */
async function searchedIn(simulated: Simulated, from: number, to: number): Promise<number[]> {
  const minutes: number[] = [];
  for (let minute = from; minute < to; minute++) {
    const before = simulated.listed;
    await simulated.measure();
    if (simulated.listed > before) minutes.push(minute);
    simulated.head += MINUTE_MS;
  }
  return minutes;
}

test('an unexplained change is searched ever more seldom, for a day', async () => {
  const simulated = world();
  simulated.pay(BOB, 5n * USD, { listed: false });
  const minutes = await searchedIn(simulated, 0, 2 * DAY_MINUTES);
  expect(minutes.slice(0, 6)).toEqual([0, 1, 3, 7, 15, 31]);
  expect(minutes.length).toBeLessThan(60);
  expect(minutes.at(-1)).toBeLessThan(DAY_MINUTES + 31);
  simulated.pay(BOB, 5n * USD, { listed: false });
  expect(await searchedIn(simulated, 0, 2)).toEqual([0, 1]);
});

test('a transfer that is listed late is found within 30 minutes', async () => {
  const simulated = world();
  const late = simulated.pay(BOB, 5n * USD, { listed: false });
  await searchedIn(simulated, 0, 100);
  expect(simulated.arrivals.found).toEqual([]);
  simulated.list(late);
  await searchedIn(simulated, 100, 130);
  expect(simulated.arrivals.found).toEqual([
    { address: toTronAddress(BOB), tron_tx_id: late.toString('hex') },
  ]);
});

test('an old transfer that never came into the ledger does not explain a surplus', async () => {
  for (const to of [ALICE, BOB]) {
    const simulated = world();
    simulated.pay(to, 30n * USD);
    simulated.head += DAY_MS;
    expect(statusOf((await simulated.measure()).position, 0n)).toBe('ok');
    simulated.head += 1;
    simulated.pay(ALICE, 7n * USD);
    const { position } = await simulated.measure();
    expect({ to, status: statusOf(position, 0n), surplus: surplusOf(position) }).toEqual({
      to,
      status: 'over_backed_drift',
      surplus: 30n * USD,
    });
  }
});

test('a surplus is searched once per change of a balance, and can be booked', async () => {
  const simulated = new Simulated();
  simulated.batch_max = 200;
  for (let at = 0; at < 50; at++) simulated.credited(named(`user ${at}`), 10n * USD);
  const lists = async (): Promise<number> => {
    const before = simulated.listed;
    await simulated.measure({ tolerance: USD });
    return simulated.listed - before;
  };
  simulated.pay(CUSTODY, USD + 1n);
  // not more than a part of the balances in each run, and each once
  expect([await lists(), await lists(), await lists(), await lists()]).toEqual([40, 10, 0, 0]);
  simulated.pay(named('user 7'), 3n * USD);
  expect([await lists(), await lists()]).toEqual([1, 0]);
  const { position } = await simulated.measure({ tolerance: 0n });
  expect([statusOf(position, 0n), surplusOf(position)]).toEqual(['over_backed_drift', USD + 1n]);
  simulated.book(USD + 1n);
  const { position: after } = await simulated.measure({ tolerance: 0n });
  expect([statusOf(after, 0n), after.booked_surplus]).toEqual(['ok', USD + 1n]);
});
