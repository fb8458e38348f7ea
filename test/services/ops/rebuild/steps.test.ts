import { expect, test } from 'vitest';
import { NAMES, projectionOf, stepText } from '../../../../services/ops/rebuild/steps.ts';
import { Misuse } from '../../../../services/ops/usage.ts';
import { PROJECTIONS } from '../../../../services/projector/registry.ts';
import type { RebuildStep } from '../../../../services/projector/rebuild/progress.ts';

const begun: RebuildStep = {
  step: 'loading',
  records: 0,
  records_behind: 9_000n,
  records_per_second: undefined,
  seconds_left: undefined,
};

test.each<[RebuildStep, string]>([
  [begun, 'loading      0 records folded, 9000 to go'],
  [
    {
      ...begun,
      records: 3_000,
      records_behind: 6_000n,
      records_per_second: 1_500,
      seconds_left: 4,
    },
    'loading      3000 records folded, 6000 to go, 1500 a second, about 4 s left',
  ],
  [
    { ...begun, records_behind: 0n, records_per_second: 1_500, seconds_left: 0 },
    'loading      0 records folded, 0 to go, 1500 a second',
  ],
  [{ ...begun, step: 'indexing' }, 'indexing'],
  [
    { ...begun, step: 'indexing', what: 'index 3 of 9 (blocks_hash)' },
    'indexing     index 3 of 9 (blocks_hash)',
  ],
  [{ ...begun, step: 'catching_up', records_behind: 12n }, 'catching up  12 records behind'],
  [{ ...begun, step: 'switching' }, 'switching'],
  [{ ...begun, step: 'comparing' }, 'comparing'],
])('how far a rebuild is is told in a line: %#', (step, line) => {
  expect(stepText(step)).toBe(line);
});

test('every projection there is can be rebuilt and verified, by its name', () => {
  for (const projection of PROJECTIONS)
    expect(projectionOf([projection.name], '')).toBe(projection);
  expect(NAMES).toHaveLength(PROJECTIONS.length);
  expect(() => projectionOf([], 'usage: rebuild')).toThrow(
    new Misuse(`which projection? one of: ${NAMES.join(', ')}`, 'usage: rebuild'),
  );
  expect(() => projectionOf(['explore'], 'usage: rebuild')).toThrow(
    new Misuse('there is no projection explore, did you mean explorer?', 'usage: rebuild'),
  );
});
