import { expect, test } from 'vitest';
import { Metrics } from '../../../../services/runtime/process/metrics.ts';
import { openReserveMetrics } from '../../../../services/treasury/reconciliation/metrics.ts';

const NOTHING = {
  run: undefined,
  broken: [] as [string, number][],
  is_closed: false,
  stands_by: false,
  at: 0,
};

test('the state of the token is shown by the process that makes the runs, and by no other', async () => {
  const metrics = new Metrics('treasury');
  const state = { ...NOTHING };
  const reserve = openReserveMetrics(metrics, () => state);
  const shown = async (): Promise<readonly string[]> =>
    [...(await metrics.text()).matchAll(/^reserve_token_\w+\{.*\} (\S+)$/gm)].map(
      ([, value = '']) => value,
    );
  expect(await shown()).toEqual(['0', '0', '0']);
  reserve.token({ paused: true, deprecated: true, fee_basis_points: 10n, maximum_fee: 1n });
  expect(await shown()).toEqual(['1', '1', '10']);
  state.stands_by = true;
  expect(await shown()).toEqual(['0', '0', '0']);
  state.stands_by = false;
  reserve.token({ paused: false, deprecated: false, fee_basis_points: 0n, maximum_fee: 1n });
  expect(await shown()).toEqual(['0', '0', '0']);
});

test('records that break a rule are counted by topic, as read so far', async () => {
  const metrics = new Metrics('treasury');
  const state = { ...NOTHING };
  openReserveMetrics(metrics, () => state);
  state.broken = [['chain.blocks', 0]];
  expect(await metrics.text()).toMatch(/^reserve_records_broken\{.*chain.blocks.*\} 0$/m);
  state.broken = [['chain.blocks', 2]];
  expect(await metrics.text()).toMatch(/^reserve_records_broken\{.*chain.blocks.*\} 2$/m);
});
