/** Passes while the provider fails in every way that it knows, and while it says what is not so. */
import { expect, inject, test } from 'vitest';
import { toTronAddress } from '../../../../schemas/tron-address.ts';
import type { TronReceipt } from '../../../../schemas/trongrid.ts';
import { Fault } from '../../../../services/runtime/process/errors.ts';
import type { TronGrid } from '../../../../services/runtime/trongrid/trongrid.ts';
import type { WatcherOptions } from '../../../../services/tron-watcher/watcher.ts';
import { openTronWorld } from '../../../support/tron-world.ts';
import { ALL, Watching } from '../../../services/tron-watcher/watching.ts';

const HOUR_MS = 3_600_000;

const stack = inject('stack');

function first<Item>(items: readonly Item[]): Item {
  const [item] = items;
  if (item === undefined) throw new Error('there is none');
  return item;
}

/** Passes until one goes well; the faults of those that did not. */
async function passUntilWell(watching: Watching): Promise<readonly Fault[]> {
  const faults: Fault[] = [];
  for (let passes = 0; passes < 100; passes++) {
    try {
      await watching.pass();
      return faults;
    } catch (error) {
      if (!(error instanceof Fault) || !error.retry) throw error;
      faults.push(error);
    }
  }
  throw new Error('no pass went well');
}

const FAILURES = {
  status_403: 'throttled',
  status_429: 'throttled',
  status_503: 'throttled',
  html: 'bad_answer',
  success_false: 'bad_answer',
  error_200: 'bad_answer',
  truncated: 'bad_answer',
  reset: 'unreachable',
} as const;

test('no failure of the provider counts as "nothing found": cursors stay, and afterwards no transfer is missing or doubled', async () => {
  const world = await openTronWorld(stack);
  const addresses = await world.request(6);
  for (const [mode, outcome] of Object.entries(FAILURES)) {
    // in the middle of a pass, behind the head and some of the lists
    for (const healthy of [0, 3]) {
      const ids = await world.tron.block(
        ...addresses.map((to) => ({ to: toTronAddress(to), value: '1000000', solidified: true })),
      );
      const time = (await world.tron.receipt(first(ids)))?.blockTimeStamp ?? 0;
      const watching = new Watching(world);
      const { provider } = watching;
      const list = provider.list.bind(provider);
      let asked = 0;
      provider.list = async (question) => {
        if (asked++ === healthy) await world.tron.fault(mode, 30);
        return await list(question);
      };
      const faults = await passUntilWell(watching);
      expect({ mode, faults: faults.length > 0 }).toEqual({ mode, faults: true });
      expect({ mode, outcomes: new Set(watching.outcomes) }).toEqual({
        mode,
        outcomes: new Set(['ok', outcome]),
      });
      await world.devnet.admin('/admin/faults', undefined, 'DELETE');
      await passUntilWell(watching);
      expect({
        mode,
        payments: new Set(watching.observed.map(({ tx_id }) => tx_id.toString('hex'))),
      }).toEqual({
        mode,
        payments: new Set(ids),
      });
      expect({ mode, doubled: watching.observed.length - ids.length }).toEqual({
        mode,
        doubled: 0,
      });
      expect(cursorsThatPassed(watching, time)).toEqual([]);
    }
  }
});

/** Addresses of which a cursor at this block was said before their transfer in it was appended. */
function cursorsThatPassed({ events }: Watching, time: number): readonly string[] {
  const found = new Set<string>();
  const passed: string[] = [];
  for (const event of events) {
    if (event.type === 'TransferObserved') found.add(event.to.toString('hex'));
    else
      passed.push(
        ...event.checked
          .filter(({ until }) => until >= time)
          .map(({ address }) => address.toString('hex'))
          .filter((address) => !found.has(address)),
      );
  }
  return passed;
}

test('a list behind the solidified head loses no transfer, because the overlap is read again', async () => {
  const world = await openTronWorld(stack);
  const address = first(await world.request(1));
  const watching = new Watching(world);
  await watching.pass();
  await world.tron.fault('list_lag', undefined, 600_000);
  await world.tron.transfer({ to: toTronAddress(address), value: '3', solidified: true });
  await watching.pass();
  expect(watching.observed).toEqual([]);
  expect(watching.until(address)).toBe((await world.tron.head()).timestamp);
  await world.devnet.admin('/admin/faults', undefined, 'DELETE');
  await watching.pass();
  expect(watching.observed.map(({ value }) => value)).toEqual([3n]);
});

test('a transfer listed later than the overlap is found by a cross-check of old ranges', async () => {
  const world = await openTronWorld(stack);
  const address = first(await world.request(1));
  await world.tron.transfer({ to: toTronAddress(address), value: '3', solidified: true });
  // the head, and with it the cursor, goes on behind it
  await world.tron.solidify();
  await world.tron.fault('empty', 1);
  const blind = new Watching(world, { overlap_ms: 0 });
  await blind.pass();
  await blind.pass();
  await blind.pass();
  expect(blind.observed).toEqual([]);
  const thorough = new Watching(world, { overlap_ms: 0, cross_check_every: 1 });
  await thorough.pass();
  expect(thorough.observed.map(({ value }) => value)).toEqual([3n]);
  expect(thorough.cross_checks).toEqual(['equal']);
});

test("a balance above the log's sum lists the address from the beginning, and a transfer that is never listed is reported as missing", async () => {
  const world = await openTronWorld(stack);
  const address = first(await world.request(1));
  const to = toTronAddress(address);
  await world.tron.transfer({ to, value: '3', solidified: true });
  // the head, and with it the cursor, goes on behind it
  await world.tron.solidify();
  await world.tron.fault('empty', 1);
  const blind = new Watching(world, { overlap_ms: 0 });
  await blind.pass();
  await blind.pass();
  const shortsighted = { overlap_ms: 0, cross_check_every: 1, cross_check_ms: 0 };
  const watching = new Watching(world, { ...shortsighted, unexplained_ms: HOUR_MS });
  // the second attempt lists from the beginning
  for (let pass = 0; pass < 3; pass++) await watching.pass();
  expect(watching.observed.map(({ value }) => value)).toEqual([3n]);
  expect(watching.cross_checks).toEqual(['more_on_chain']);
  await world.tron.transfer({ to, value: '4', listed: false, solidified: true });
  const again = new Watching(world, shortsighted);
  await again.pass();
  await again.pass();
  expect(again.cross_checks).toEqual(['more_on_chain', 'missing']);
  // money that has left the address is no difference that matters
  await world.tron.transfer({
    from: to,
    to: 'TKx29eiTfFinZhYoi3FbaMWyud8NMdZnMb',
    value: '6',
    solidified: true,
  });
  const later = new Watching(world, shortsighted);
  await later.pass();
  expect(later.cross_checks).toEqual(['less_on_chain']);
});

test('a balance that no list explains shows in a batch, and a transfer that is named is credited', async () => {
  const world = await openTronWorld(stack);
  const [address, other] = await world.request(2);
  if (address === undefined || other === undefined) throw new Error('there are two');
  const to = toTronAddress(address);
  const id = await world.tron.transfer({ to, value: '3', listed: false, solidified: true });
  const watching = new Watching(world, { balance_requests_max: 2, unexplained_ms: HOUR_MS });
  await watching.pass();
  expect(watching.observed).toEqual([]);
  expect(watching.cross_checks).toEqual(['more_on_chain']);
  const { watcher } = watching;
  expect(watcher.retries.shown()).toMatchObject([{ kind: 'balance', address: to }]);
  const tx_id = Buffer.from(id, 'hex');
  await watcher.find(
    [address, other].map((each) => ({ address: each, tx_id })),
    ALL,
  );
  await watching.pass();
  expect(watching.observed.map(({ value }) => value)).toEqual([3n]);
  await watching.pass();
  expect(watcher.retries.shown()).toEqual([]);
});

/** The provider's first `times` receipts are changed on their way. */
function lie(
  provider: TronGrid,
  times: number,
  change: (receipt: TronReceipt) => TronReceipt,
): void {
  const receipt = provider.receipt.bind(provider);
  let lies = times;
  provider.receipt = async (txId) => {
    const said = await receipt(txId);
    return said !== undefined && lies-- > 0 ? change(said) : said;
  };
}

test('a truncated receipt is completed when the balance shows it, without doubles', async () => {
  const world = await openTronWorld(stack);
  const address = first(await world.request(1));
  const to = toTronAddress(address);
  const logs = [
    { to, value: '11' },
    { to, value: '12' },
  ];
  await world.tron.transfer({ logs, solidified: true });
  const watching = new Watching(world, { cross_check_every: 1, unexplained_ms: HOUR_MS });
  lie(watching.provider, 1, (receipt) => ({ ...receipt, logs: receipt.logs.slice(0, 1) }));
  await watching.pass();
  expect(watching.observed.map(({ value }) => value)).toEqual([11n]);
  // the third attempt asks for all receipts
  for (let attempt = 0; attempt < 3; attempt++) await watching.pass();
  expect(watching.cross_checks).toEqual(['more_on_chain']);
  expect(watching.observed.map(({ value }) => value)).toEqual([11n, 12n]);
});

test('an empty receipt is requested again at the next cross-check, also where money has left', async () => {
  const world = await openTronWorld(stack);
  const address = first(await world.request(1));
  const to = toTronAddress(address);
  await world.tron.transfer({ to, value: '20', solidified: true });
  const watching = new Watching(world, { overlap_ms: 0, cross_check_every: 1 });
  await watching.pass();
  await world.tron.transfer({
    from: to,
    to: 'TKx29eiTfFinZhYoi3FbaMWyud8NMdZnMb',
    value: '20',
    solidified: true,
  });
  await world.tron.transfer({ to, value: '9', solidified: true });
  lie(watching.provider, 1, (receipt) => ({ ...receipt, logs: [] }));
  await watching.pass();
  expect(watching.observed.map(({ value }) => value)).toEqual([20n]);
  await watching.pass();
  expect(watching.cross_checks).toEqual(['equal', 'less_on_chain', 'less_on_chain']);
  expect(watching.observed.map(({ value }) => value)).toEqual([20n, 9n]);
});

test('a receipt of a future time is refused and delays its own address alone', async () => {
  const world = await openTronWorld(stack);
  const [deceived, other] = await world.request(2);
  if (deceived === undefined || other === undefined) throw new Error('there are two');
  await world.tron.transfer({ to: toTronAddress(deceived), value: '5', solidified: true });
  const watching = new Watching(world);
  // in its turn, and when it is asked about again
  lie(watching.provider, 2, (receipt) => ({
    ...receipt,
    block_timestamp: Date.now() + 7_200_000,
  }));
  await watching.pass();
  expect(watching.observed).toEqual([]);
  await world.tron.transfer({ to: toTronAddress(other), value: '6', solidified: true });
  await watching.pass();
  expect(watching.observed.map(({ value }) => value)).toEqual([6n]);
  await watching.pass();
  expect(
    watching.observed.map(({ value }) => value).toSorted((one, next) => Number(one - next)),
  ).toEqual([5n, 6n]);
});

test('bad answers about one address or transaction delay no other address, and its cursor stays', async () => {
  const world = await openTronWorld(stack);
  const addresses = await world.request(5);
  const ids = await world.tron.block(
    ...addresses.map((to) => ({ to: toTronAddress(to), value: '1', solidified: true })),
  );
  const [broken, unclear] = addresses;
  if (broken === undefined || unclear === undefined) throw new Error('there are five');
  const unclearTx = Buffer.from(ids[1] ?? '', 'hex');
  const watching = new Watching(world, {
    provider: lyingFor(new Watching(world).provider, broken, unclearTx),
  });
  await passUntilWell(watching);
  await passUntilWell(watching);
  expect(new Set(watching.observed.map(({ tx_id }) => tx_id.toString('hex')))).toEqual(
    new Set(ids.slice(2)),
  );
  expect(watching.until(broken)).toBe(0);
  expect(watching.until(unclear)).toBe(
    ((await world.tron.receipt(ids[1] ?? ''))?.blockTimeStamp ?? 0) - 1,
  );
  const honest = new Watching(world);
  await passUntilWell(honest);
  expect(new Set(honest.observed.map(({ tx_id }) => tx_id.toString('hex')))).toEqual(
    new Set(ids.slice(0, 2)),
  );
});

function failure(): Promise<never> {
  return Promise.reject(new Fault('tron_answer', 'a bad answer', { retry: true }));
}

function lyingFor(provider: TronGrid, address: Buffer, txId: Buffer): WatcherOptions['provider'] {
  return {
    head: () => provider.head(),
    balance: (of) => provider.balance(of),
    balances: (of) => provider.balances(of),
    failing: () => provider.failing(),
    idle: () => provider.idle(),
    list: (question) => (question.address.equals(address) ? failure() : provider.list(question)),
    receipt: (id) => (id.equals(txId) ? failure() : provider.receipt(id)),
  };
}
