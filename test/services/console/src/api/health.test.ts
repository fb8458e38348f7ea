import { expect, test } from 'vitest';
import { POSITION, type Status } from '../../../../../schemas/explorer-api/network.ts';
import { exampleOf } from '../../../../../schemas/http-api/answer.ts';
import { problemsOf } from '../../../../../services/console/src/api/health.ts';
import { ServiceError } from '../../../../../services/console/src/api/service.ts';
import { TEXT } from '../../../../../services/console/src/text.ts';

const WELL: Status = {
  head: { height: 9, finalized_height: 3 },
  indexed: { height: 9, finalized_height: 3 },
  lag_blocks: 0,
  projections: [{ ...Object(exampleOf(POSITION)), next_offset: 10, lag_records: 0 }],
};
const words = TEXT.health;

test.each<readonly [string, Status, readonly string[]]>([
  ['all is well', WELL, []],
  ['the node is away', { ...WELL, head: null, lag_blocks: null }, [words.noNode]],
  ['the index is far behind', { ...WELL, lag_blocks: 21 }, [words.behind(21)]],
  ['the index is a little behind', { ...WELL, lag_blocks: 20 }, []],
  ['another projection has no lag', { ...WELL, projections: [] }, []],
])('%s', (_title, status, problems) => {
  expect(problemsOf(status, null, undefined)).toEqual(problems);
});

test('a log that is away and tables that are built are named', () => {
  const projections = WELL.projections.map((explorer) => ({
    ...explorer,
    lag_records: null,
    loading: true,
  }));
  expect(problemsOf({ ...WELL, projections }, null, undefined)).toEqual([
    words.loading,
    words.noLog,
  ]);
});

test('the parts that stand still are named together', () => {
  const still = ['ride_market', 'series', 'unheard_of'];
  expect(problemsOf(WELL, null, undefined, still)).toEqual([
    words.still('the market, charts, unheard_of'),
  ]);
});

test('an explorer that is away is told apart from one that has no data', () => {
  const away = new ServiceError(0, 'Failed to fetch');
  const unreadable = new ServiceError(503, 'the index cannot be read at the moment');
  expect(problemsOf(undefined, away, undefined)).toEqual([words.noAnswer]);
  expect(problemsOf(WELL, away, '12:00')).toEqual([`${words.noAnswer} ${words.old('12:00')}`]);
  expect(problemsOf(undefined, unreadable, undefined)).toEqual([
    words.unreadable('the index cannot be read at the moment'),
  ]);
});
