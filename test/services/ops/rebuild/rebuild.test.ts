import { expect, test } from 'vitest';
import { paceOf, stepText, verify } from '../../../../services/ops/rebuild/rebuild.ts';
import { Misuse } from '../../../../services/ops/usage.ts';
import type { RebuildStep } from '../../../../services/projector/rebuild/rebuild.ts';

const begun: RebuildStep = {
  step: 'loading',
  records: 0,
  records_behind: 9_000n,
  records_per_second: undefined,
  seconds_left: undefined,
};

test.each<[RebuildStep, string]>([
  [begun, 'loading, 0 records folded, 9000 to go'],
  [
    {
      ...begun,
      records: 3_000,
      records_behind: 6_000n,
      records_per_second: 1_500,
      seconds_left: 4,
    },
    'loading, 3000 records folded, 6000 to go, 1500 a second, about 4 s left',
  ],
  [
    { ...begun, records_behind: 0n, records_per_second: 1_500, seconds_left: 0 },
    'loading, 0 records folded, 0 to go, 1500 a second',
  ],
  [{ ...begun, step: 'indexing' }, 'indexing'],
  [
    { ...begun, step: 'indexing', what: 'index 3 of 9 (blocks_hash)' },
    'indexing: index 3 of 9 (blocks_hash)',
  ],
  [{ ...begun, step: 'catching_up', records_behind: 12n }, 'catching up, 12 records behind'],
  [{ ...begun, step: 'switching' }, 'switching'],
  [{ ...begun, step: 'comparing' }, 'comparing'],
])('the progress of a rebuild is one line: %#', (step, line) => {
  expect(stepText(step)).toBe(line);
});

test.each([
  ['full', 1],
  ['100', 1],
  ['50', 0.5],
  ['50%', 0.5],
  ['1', 0.01],
])('--pace %s is a share of the time of %f', (text, share) => {
  expect(paceOf(text)).toBe(share);
});

test.each(['0', '101', '-5', '5.5', 'half', '', '%', '50%%', '1000'])(
  '--pace %j is refused',
  (text) => {
    expect(() => paceOf(text)).toThrow(
      `--pace is full, or a percentage from 1 to 100, not ${text}`,
    );
  },
);

test('a wrong --pace is refused once for all projections', async () => {
  const args = { projection: 'all', pace: '0', json: undefined, afresh: undefined, stack: 'none' };
  await expect(verify(args)).rejects.toThrow(Misuse);
});
