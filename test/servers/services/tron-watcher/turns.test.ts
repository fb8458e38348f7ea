/** The order of addresses, and the requests of a pass. */
import { expect, inject, test } from 'vitest';
import { toTronAddress } from '../../../../schemas/tron-address.ts';
import { openTronWorld, type TronWorld } from '../../../support/tron-world.ts';
import { ALL, Watching } from '../../../services/tron-watcher/watching.ts';

const stack = inject('stack');

interface Requests {
  readonly total: number;
  readonly by_path: Readonly<Record<string, number>>;
  readonly max_in_1s: number;
}

const LIST = '/v1/accounts/:address/transactions/trc20';

async function requests(world: TronWorld): Promise<Requests> {
  const { body }: { body: Requests } = Object(
    await world.devnet.admin('/admin/tron/requests', undefined, 'GET'),
  );
  return body;
}

async function startCounting(world: TronWorld): Promise<void> {
  await world.devnet.admin('/admin/tron/requests', undefined, 'DELETE');
}

test('a pass checks at most its share of addresses, with one request each and one for the head, within the allowed rate', async () => {
  const world = await openTronWorld(stack);
  await world.request(120);
  const watching = new Watching(world, { requests_per_second: 60 });
  for (let pass = 0; pass < 3; pass++) {
    await startCounting(world);
    expect(await watching.pass()).toBe(50);
    const { by_path: byPath, total, max_in_1s: maxIn1s } = await requests(world);
    expect({ paths: byPath, total }).toEqual({
      paths: { [LIST]: 50, '/walletsolidity/getnowblock': 1 },
      total: 51,
    });
    expect(maxIn1s).toBeLessThanOrEqual(60);
  }
});

test('due hot addresses come first, then all in turn; a deposit to a cold one is found', async () => {
  const world = await openTronWorld(stack);
  const addresses = await world.request(120);
  const first = new Watching(world);
  for (let pass = 0; pass < 3; pass++) await first.pass();
  const asked = first.events.flatMap((event) =>
    event.type === 'AddressesChecked' ? event.checked : [],
  );
  expect(new Set(asked.map(({ address }) => address.toString('hex'))).size).toBe(120);

  // each is hot until a check after its time is over is folded
  await expect.poll(async () => (await world.model.hot(ALL, 1_000, Date.now())).length).toBe(0);
  const hot = [7, 77, 117];
  await world.openPanels(hot);
  const last = asked.at(-1)?.address;
  if (last === undefined) throw new Error('nobody was asked about');
  await world.tron.transfer({ to: toTronAddress(last), value: '9', solidified: true });
  const lists: string[] = [];
  // each pass is a minute later by its clock: all hot ones are due again
  let minutes = 0;
  const watching = new Watching(world, { now: () => Date.now() + 60_000 * minutes });
  const list = watching.provider.list.bind(watching.provider);
  watching.provider.list = (question) => {
    lists.push(question.address.toString('hex'));
    return list(question);
  };
  const hotOnes = new Set(hot.map((index) => addresses[index]?.toString('hex')));
  const cold = new Set<string>();
  for (let pass = 0; pass < 3; pass++) {
    lists.length = 0;
    minutes = pass;
    await watching.pass();
    expect(new Set(lists.slice(0, 3))).toEqual(hotOnes);
    for (const address of lists.slice(3)) cold.add(address);
  }
  expect(watching.observed.map(({ value, to }) => [value, to.equals(last)])).toEqual([[9n, true]]);
  expect(cold.size).toBe(117);
});

test('the rotation keeps its part of each pass, and no address in it is checked again at once', async () => {
  const world = await openTronWorld(stack);
  await world.request(60);
  const watching = new Watching(world, { cold_every_ms: 3_600_000, pass_cold_min: 10 });
  await watching.pass();
  await watching.pass();
  // all were asked about once and are cold, each within its hour
  expect(await watching.pass()).toBe(0);
  await world.openPanels(Array.from({ length: 55 }, (_, index) => index));
  expect(await watching.pass()).toBe(50);
  const impatient = new Watching(world, { pass_cold_min: 10 });
  const before = await requests(world);
  expect(await impatient.pass()).toBe(50);
  const checked = impatient.events.flatMap((event) =>
    event.type === 'AddressesChecked' ? event.checked : [],
  );
  const coldOnes = new Set(
    (await world.model.inTurn([0, 1, 2, 3, 4, 5], 100))
      .filter(({ hot }) => !hot)
      .map(({ address }) => address.toString('hex')),
  );
  expect(coldOnes.size).toBe(5);
  expect(checked.filter(({ address }) => coldOnes.has(address.toString('hex'))).length).toBe(5);
  expect((await requests(world)).total - before.total).toBe(51);
});

test('two watchers with different partitions check each address once', async () => {
  const world = await openTronWorld(stack);
  await world.request(40);
  const [one, other] = [new Watching(world), new Watching(world)];
  await startCounting(world);
  const counts = await Promise.all([one.pass([0, 1, 2]), other.pass([3, 4, 5])]);
  expect(counts[0] + counts[1]).toBe(40);
  expect((await requests(world)).by_path[LIST]).toBe(40);
});
