import { expect, test } from 'vitest';
import { POSITION, type Status } from '../../../../../schemas/explorer-api/network.ts';
import { exampleOf } from '../../../../../schemas/http-api/answer.ts';
import {
  NO_LOOK,
  standingStill,
  withStatus,
} from '../../../../../services/console/src/api/stalls.ts';

/** The status at `next`, behind the log by `records` and behind the node by `blocks`. */
function statusAt(
  next: number,
  records: number | null,
  blocks = 0,
  loading = false,
  partitions = [0],
): Status {
  return {
    head: { height: next + blocks, finalized_height: 0 },
    indexed: { height: next, finalized_height: 0 },
    lag_blocks: blocks,
    projections: partitions.map((partition) => ({
      ...Object(exampleOf(POSITION)),
      partition,
      next_offset: next,
      lag_records: records,
      loading,
    })),
  };
}

/** The parts that stand still after a look each second, from this second on. */
function after(looks: readonly Status[], from = 0, before = NO_LOOK): readonly string[] {
  let latest = before;
  for (const [at, look] of looks.entries()) latest = withStatus(latest, look, (from + at) * 1_000);
  return standingStill(latest);
}

const SIX = [0, 1, 2, 3, 4, 5];

test('a projection that moves is never still, however far it is behind', () => {
  expect(after(SIX.map((at) => statusAt(at, 1_000)))).toEqual([]);
});

test('a projection with nothing to read is not still', () => {
  expect(after(SIX.map(() => statusAt(7, 0)))).toEqual([]);
});

test('a projection that stays at one offset for five seconds with records to read is still', () => {
  const looks = SIX.map((at) => statusAt(7, at + 1));
  expect(after(looks)).toEqual(['explorer']);
  expect(after(looks.slice(1))).toEqual([]);
  expect(after([...looks, statusAt(8, 5)])).toEqual([]);
});

test('a log that does not answer, and tables that are built, are not called still', () => {
  expect(after(SIX.map(() => statusAt(7, null)))).toEqual([]);
  const loading = SIX.map(() => statusAt(7, 3, 0, true));
  expect(after(loading)).toEqual([]);
});

test('new blocks of the node that do not reach the log are the record of blocks that is still', () => {
  expect(after(SIX.map((at) => statusAt(7, 0, at + 1)))).toEqual(['blocks']);
});

test('looks before a pause of more than five seconds prove nothing', () => {
  const looks = SIX.map((at) => statusAt(7, at + 1));
  const [first = statusAt(7, 1)] = looks;
  const before = withStatus(NO_LOOK, first, 0);
  expect(after([first], 600, before)).toEqual([]);
  expect(after([first], 5, before)).toEqual(['explorer']);
  expect(after(looks, 600, before)).toEqual(['explorer']);
});

test('looks before the clock was set back prove nothing', () => {
  const looks = SIX.map((at) => statusAt(7, at + 1));
  const before = withStatus(NO_LOOK, statusAt(7, 1), 3_600_000);
  expect(after(looks, 0, before)).toEqual(['explorer']);
});

test('a projection of several partitions that stand still is named once', () => {
  expect(after(SIX.map((at) => statusAt(7, at + 1, 0, false, [0, 1])))).toEqual(['explorer']);
});
