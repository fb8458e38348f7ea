import { expect, test, vi } from 'vitest';
import { Clients } from '../../../../services/runtime/limits/clients.ts';
import { ExportSlots, Scans } from '../../../../services/runtime/limits/long-reads.ts';

async function* counting(to: number): AsyncGenerator<string> {
  for (let at = 0; at < to; at++) yield String(at);
}

async function* breaking(): AsyncGenerator<string> {
  yield await Promise.reject<string>(new Error('too slow'));
}

const headers = {};

/** Each for another client when not told whose. */
let clients = 0;

async function iteratorIn(
  slots: ExportSlots,
  pieces = counting(2),
  client = String(clients++),
): Promise<AsyncIterator<string>> {
  const held = await slots.hold(client, () => Promise.resolve({ pieces, headers }));
  if (held === undefined || !('body' in held)) throw new Error('no slot is free');
  return held.body[Symbol.asyncIterator]();
}

async function isFull(slots: ExportSlots, client = String(clients++)): Promise<boolean> {
  const held = await slots.hold(client, () => Promise.resolve({ refused: 'there was room' }));
  return held === undefined;
}

test('slots are limited, and a slot is free again when its export has ended', async () => {
  const slots = new ExportSlots(2);
  const [first] = await Promise.all([iteratorIn(slots), iteratorIn(slots)]);
  expect(await isFull(slots)).toBe(true);
  expect(await first.next()).toEqual({ done: false, value: '0' });
  await first.return?.();
  expect(await first.next()).toEqual({ done: true, value: undefined });
  await iteratorIn(slots);
  expect(await isFull(slots)).toBe(true);
});

test('an export that is never read releases its slot once', async () => {
  const slots = new ExportSlots(1);
  const first = await iteratorIn(slots);
  await first.return?.();
  await iteratorIn(slots);
  await first.return?.();
  expect(await isFull(slots)).toBe(true);
});

test('a slot is taken during the start, and released when the start fails or is refused', async () => {
  const slots = new ExportSlots(1);
  const beginning = Promise.withResolvers<{ readonly refused: string }>();
  const refused = slots.hold('somebody', () => beginning.promise);
  expect(await isFull(slots)).toBe(true);
  beginning.resolve({ refused: 'no' });
  expect(await refused).toEqual({ refused: 'no' });
  await expect(
    slots.hold('somebody', () => Promise.reject(new Error('Postgres is away'))),
  ).rejects.toThrow('Postgres is away');
  await iteratorIn(slots);
  expect(await isFull(slots)).toBe(true);
});

test('a slot stays taken while a statement is in flight', async () => {
  const answered = Promise.withResolvers<string>();
  async function* waiting(): AsyncGenerator<string> {
    yield await answered.promise;
  }
  const slots = new ExportSlots(1);
  const iterator = await iteratorIn(slots, waiting());
  const [next, ended] = [iterator.next(), iterator.return?.()];
  expect(await isFull(slots)).toBe(true);
  answered.resolve('x');
  expect(await next).toEqual({ done: false, value: 'x' });
  await ended;
  await iteratorIn(slots);
});

test('exports read one piece at a time', async () => {
  const slots = new ExportSlots(4);
  const begun: string[] = [];
  const answers: (() => void)[] = [];
  async function* reading(name: string): AsyncGenerator<string> {
    for (;;) {
      begun.push(name);
      await new Promise<void>((resolve) => answers.push(resolve));
      yield name;
    }
  }
  const open = (name: string): Promise<AsyncIterator<string>> =>
    iteratorIn(slots, reading(name), name.slice(0, 1));
  const iterators = await Promise.all(['a1', 'a2', 'b'].map(open));
  const all = iterators.map((each) => each.next());
  for (const count of [1, 2, 3]) {
    await vi.waitFor(() => expect(begun).toHaveLength(count));
    expect(answers).toHaveLength(count);
    answers.at(-1)?.();
  }
  await Promise.all(all);
  expect(begun).toEqual(['a1', 'a2', 'b']);
});

test('a piece that fails makes room for the next', async () => {
  const slots = new ExportSlots(2);
  const [first, second] = [await iteratorIn(slots, breaking()), await iteratorIn(slots)];
  await expect(first.next()).rejects.toThrow('too slow');
  expect(await second.next()).toEqual({ done: false, value: '0' });
});

test('without slots nothing is exported', async () => {
  expect(await isFull(new ExportSlots(0))).toBe(true);
});

test('one client has at most half of the slots, so a slow reader leaves room for others', async () => {
  const slots = new ExportSlots(4);
  const first = await iteratorIn(slots, counting(1), 'slow');
  await iteratorIn(slots, counting(1), 'slow');
  expect(await isFull(slots, 'slow')).toBe(true);
  expect(await isFull(slots, 'other')).toBe(false);
  await first.return?.();
  expect(await isFull(slots, 'slow')).toBe(false);
});

test('so many scans run at once, each for another client, and so many of a client wait', async () => {
  const scans = new Scans();
  const started: string[] = [];
  const gate = Promise.withResolvers<void>();
  const scan = (client: string): Promise<string | undefined> =>
    scans.run(new Clients([client]), async () => {
      started.push(client);
      await gate.promise;
      return client;
    });
  const all = ['a', 'b', 'c', ...Array.from({ length: 8 }, () => 'a')].map(scan);
  expect(await scan('a')).toBeUndefined();
  expect(started).toEqual(['a', 'b']);
  gate.resolve();
  expect((await Promise.all(all)).slice(0, 3)).toEqual(['a', 'b', 'c']);
  expect(started).toHaveLength(11);
});

test('a scan that fails makes room for the next', async () => {
  const scans = new Scans();
  const failing = scans.run(new Clients(['a']), () => Promise.reject(new Error('too slow')));
  const waiting = scans.run(new Clients(['a']), () => Promise.resolve('done'));
  await expect(failing).rejects.toThrow('too slow');
  expect(await waiting).toBe('done');
});
