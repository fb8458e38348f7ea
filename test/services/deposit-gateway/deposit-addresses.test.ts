import { expect, test } from 'vitest';
import { Notifications } from '../../../services/deposit-gateway/deposit-addresses.ts';

test('a notification wakes only the waiters of its key', async () => {
  const notifications = new Notifications();
  const woken: string[] = [];
  const waits = ['a', 'a', 'b'].map((key) => notifications.next(key).then(() => woken.push(key)));
  notifications.notify(['c']);
  notifications.notify(['a']);
  await Promise.all(waits.slice(0, 2));
  expect(woken).toEqual(['a', 'a']);
  notifications.notify(undefined);
  await waits[2];
  expect(woken).toEqual(['a', 'a', 'b']);
});

test('a notification without a waiter is discarded', () => {
  const notifications = new Notifications();
  const before = notifications.next('a');
  expect(notifications.next('a')).toBe(before);
  notifications.notify(['a']);
  expect(notifications.next('a')).not.toBe(before);
  const forgotten = notifications.next('b');
  notifications.forget('b');
  expect(notifications.next('b')).not.toBe(forgotten);
});
