/** On two years of hours: the questions of charts, and those of the fold, read only their part. */
import { beforeAll, expect, inject, test } from 'vitest';
import {
  producersOf,
  seriesOf,
  type Bucket,
  type Range,
} from '../../../../projections/series/queries.ts';
import { series } from '../../../../projections/series/series.ts';
import { selectOf } from '../../../../services/projector/engine/table-reader.ts';
import { prepareDatabase } from '../../../../services/projector/tables/migrations.ts';
import { explained, PLAN_CACHES } from '../../../projections/explorer/explained.ts';
import { freshDatabase, rowsOf } from '../../../support/database.ts';

const HOURS = 17_520;
const FIRST = 490_000;
const VALIDATORS = 4;
let urls: Awaited<ReturnType<typeof freshDatabase>>;

beforeAll(async () => {
  urls = await freshDatabase(inject('stack'));
  await prepareDatabase(urls.writer_url, series, { indexed: true });
  await rowsOf(
    urls.writer_url,
    `SET search_path = series;
     INSERT INTO head VALUES (true, 1, ${HOURS - 1}, '\\x00', ${HOURS - 3}, 0);
     INSERT INTO hours SELECT ${FIRST} + at, at, 1, 1, 0, 0, 0, 1, 0 FROM generate_series(0, ${HOURS - 1}) at;
     INSERT INTO days SELECT DISTINCT hour / 24, 1 FROM hours;
     INSERT INTO producers SELECT hour, decode(lpad(to_hex(v), 40, '0'), 'hex'), 1
       FROM hours CROSS JOIN generate_series(1, ${VALIDATORS}) v;
     ANALYZE head, hours, days, producers`,
  );
});

const at = (by: Bucket, back: number): Range => {
  const hours = by === 'hour' ? 1 : 24;
  return { by, from: 0, to: Math.floor((FIRST + HOURS) / hours) - back, limit: 10 };
};

test.each(
  (['hour', 'day'] as const).flatMap((by) =>
    PLAN_CACHES.flatMap((cache) => [0, 300].map((back) => [by, cache, back] as const)),
  ),
)('10 buckets (%s, %s, %i back) are a range of the index', async (by, cache, back) => {
  const hours = by === 'hour' ? 10 : 240;
  const figures = await explained(urls.reader_url, seriesOf(at(by, back)), cache);
  const producers = await explained(urls.reader_url, producersOf(at(by, back)), cache);
  const read = ({ scans }: typeof figures, table: string): number =>
    scans.filter((scan) => scan.table === table).reduce((sum, { rows }) => sum + rows, 0);
  expect(read(figures, 'hours')).toBeLessThanOrEqual(hours + 1);
  expect(read(producers, 'producers')).toBeLessThanOrEqual(VALIDATORS * hours);
  expect(figures.removed + producers.removed).toBe(0);
});

test('a batch reads only the hours that a block may still change', async () => {
  const selects = series.loads([]).map((load) => selectOf(load));
  for (const name of ['hours', 'days', 'producers']) {
    const { text = '' } = selects.find((select) => select.name === name) ?? {};
    const inSchema = text.replaceAll(/(FROM )(?=[a-z])/g, '$1series.');
    const query = { name, text: inSchema, values: [] };
    const { scans, removed } = await explained(urls.reader_url, query, 'force_generic_plan');
    const rows = scans.filter(({ table }) => table === name).map((scan) => scan.rows);
    expect(Math.max(...rows)).toBeLessThanOrEqual(name === 'producers' ? 3 * VALIDATORS : 3);
    expect(removed).toBe(0);
  }
});
