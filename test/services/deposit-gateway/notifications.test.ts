import { expect, test } from 'vitest';
import { Notifications } from '../../../services/deposit-gateway/notifications.ts';

test('a notification wakes who waits for its key, and nobody else', async () => {
  const notifications = new Notifications();
  const woken: string[] = [];
  const waits = ['a', 'a', 'b'].map((key) => notifications.next(key).then(() => woken.push(key)));
  notifications.tell('c');
  notifications.tell('a');
  await Promise.all(waits.slice(0, 2));
  expect(woken).toEqual(['a', 'a']);
  notifications.tellAll();
  await waits[2];
  expect(woken).toEqual(['a', 'a', 'b']);
});

test('one that comes before anybody waits is not kept', () => {
  const notifications = new Notifications();
  const before = notifications.next('a');
  expect(notifications.next('a')).toBe(before);
  notifications.tell('a');
  expect(notifications.next('a')).not.toBe(before);
  const forgotten = notifications.next('b');
  notifications.forget('b');
  expect(notifications.next('b')).not.toBe(forgotten);
});
