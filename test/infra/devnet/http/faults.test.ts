import { expect, test } from 'vitest';
import { Faults, NODE_FAULTS } from '../../../../infra/devnet/http/faults.ts';

test('a fault with `times` ends after that many requests', () => {
  const faults = new Faults(NODE_FAULTS);
  faults.set('reset', 2, undefined);
  expect(
    [faults.take('reset'), faults.take('reset'), faults.take('reset')].map(
      (fault) => fault !== undefined,
    ),
  ).toEqual([true, true, false]);
  expect(faults.active).toEqual([]);
});

test('a fault without `times` stays until all are cleared, and modes are independent', () => {
  const faults = new Faults(NODE_FAULTS);
  faults.set('delay', null, 7);
  faults.set('lag', null, undefined);
  for (let asked = 0; asked < 100; asked++)
    expect(faults.take('delay')).toEqual({ mode: 'delay', times: null, delay_ms: 7 });
  expect(faults.take('reset')).toBeUndefined();
  expect(faults.active.map(({ mode }) => mode)).toEqual(['delay', 'lag']);
  faults.clear();
  expect(faults.take('delay')).toBeUndefined();
});

test('setting a mode again replaces its settings', () => {
  const faults = new Faults(NODE_FAULTS);
  faults.set('reset', 5, undefined);
  faults.set('reset', 1, undefined);
  expect(faults.active).toEqual([{ mode: 'reset', times: 1, delay_ms: 0 }]);
});
