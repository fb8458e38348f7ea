import { expect, test } from 'vitest';
import { Held } from '../../../../services/runtime/limits/held.ts';
import { openLimits } from '../../../../services/runtime/limits/limits.ts';
import { Metrics } from '../../../../services/runtime/process/metrics.ts';

test('each client holds its own, and what is given back may be taken again', () => {
  const held = new Held(2);
  const first = held.take('a');
  expect(held.take('a')).toBeDefined();
  expect(held.take('a')).toBeUndefined();
  expect(held.take('b')).toBeDefined();
  first?.();
  expect(held.take('a')).toBeDefined();
});

test('a client that holds nothing may take more than the limit', () => {
  const held = new Held(10);
  const all = held.take('a', 100);
  expect(held.take('a', 1)).toBeUndefined();
  all?.();
  expect(held.take('a', 100)).toBeDefined();
});

test('a limit counts what it refuses; one that is switched off refuses nothing', async () => {
  const metrics = new Metrics('test');
  const limits = openLimits(new Set(['addresses']), metrics);
  const sockets = new Held(1, limits.connections);
  const off = new Held(1, limits.addresses);
  for (let taken = 0; taken < 3; taken++) {
    sockets.take('a');
    expect(off.take('a', 1_000)).toBeDefined();
  }
  const text = await metrics.text();
  expect(text).toMatch(/^limit_refusals_total\{.*limit="connections".*\} 2$/m);
  expect(text).toMatch(/^limit_refusals_total\{.*limit="addresses".*\} 0$/m);
});
