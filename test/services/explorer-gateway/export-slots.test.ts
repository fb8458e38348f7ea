import { expect, test } from 'vitest';
import { ExportSlots } from '../../../services/explorer-gateway/export-slots.ts';

async function* counting(to: number): AsyncGenerator<string> {
  for (let at = 0; at < to; at++) yield String(at);
}

function iteratorIn(slots: ExportSlots, pieces = counting(2)): AsyncIterator<string> {
  const held = slots.hold(pieces);
  if (held === undefined) throw new Error('no slot is free');
  return held[Symbol.asyncIterator]();
}

test('there are so many slots and no more, and one is free again when its export has ended', async () => {
  const slots = new ExportSlots(2);
  const [first] = [iteratorIn(slots), iteratorIn(slots)];
  expect(slots.hold(counting(1))).toBeUndefined();
  expect(await first.next()).toEqual({ done: false, value: '0' });
  await first.return?.();
  expect(await first.next()).toEqual({ done: true, value: undefined });
  iteratorIn(slots);
  expect(slots.hold(counting(1))).toBeUndefined();
});

test('an export that was never read from gives its slot back too, and only once', async () => {
  const slots = new ExportSlots(1);
  const first = iteratorIn(slots);
  await first.return?.();
  iteratorIn(slots);
  await first.return?.();
  expect(slots.hold(counting(1))).toBeUndefined();
});

test('a slot stays taken while a statement is in flight', async () => {
  const answered = Promise.withResolvers<string>();
  async function* waiting(): AsyncGenerator<string> {
    yield await answered.promise;
  }
  const slots = new ExportSlots(1);
  const iterator = iteratorIn(slots, waiting());
  const [next, ended] = [iterator.next(), iterator.return?.()];
  expect(slots.hold(counting(1))).toBeUndefined();
  answered.resolve('x');
  expect(await next).toEqual({ done: false, value: 'x' });
  await ended;
  iteratorIn(slots);
});

test('without slots nothing is exported', () => {
  expect(new ExportSlots(0).hold(counting(1))).toBeUndefined();
});
