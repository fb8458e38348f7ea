import { expect, test } from 'vitest';
import { Hints, keysOf } from '../../../services/deposit-gateway/hints.ts';

test('a hint wakes who waits for its key, and nobody else', async () => {
  const hints = new Hints();
  const woken: string[] = [];
  const waits = ['a', 'a', 'b'].map((key) => hints.next(key).then(() => woken.push(key)));
  hints.tell('c');
  hints.tell('a');
  await Promise.all(waits.slice(0, 2));
  expect(woken).toEqual(['a', 'a']);
  hints.tellAll();
  await waits[2];
  expect(woken).toEqual(['a', 'a', 'b']);
});

test('one that comes before anybody waits is not kept', () => {
  const hints = new Hints();
  const before = hints.next('a');
  expect(hints.next('a')).toBe(before);
  hints.tell('a');
  expect(hints.next('a')).not.toBe(before);
  const forgotten = hints.next('b');
  hints.forget('b');
  expect(hints.next('b')).not.toBe(forgotten);
});

test('a hint names keys; one that names none, or is none, may be about any', () => {
  expect(keysOf('{"projection":"deposits","keys":["0xa","0xb"],"position":{}}')).toEqual([
    '0xa',
    '0xb',
  ]);
  expect(keysOf('{"keys":[1,"0xa",null]}')).toEqual(['0xa']);
  for (const message of ['', '{', 'null', '3', '[]', '{}', '{"keys":[]}', '{"keys":"0xa"}'])
    expect([message, keysOf(message)]).toEqual([message, undefined]);
});
