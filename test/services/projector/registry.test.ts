import { expect, test } from 'vitest';
import { PROJECTIONS, projectionNamed } from '../../../services/projector/registry.ts';
import { TOPICS } from '../../../schemas/topics.ts';

test('a projection is found by its name', () => {
  expect(PROJECTIONS.map(({ name }) => name)).toEqual([
    'explorer',
    'reserve',
    'deposits',
    'watch',
    'ride_market',
  ]);
  for (const projection of PROJECTIONS) expect(projectionNamed(projection.name)).toBe(projection);
});

test.each([undefined, '', 'Explorer', 'toString', '__proto__'])(
  'a name that is none (%s) is refused with those there are',
  (name) => {
    expect(projectionNamed(name)).toEqual({
      refused:
        'usage: projector <name>, where <name> is one of: explorer, reserve, deposits, watch, ride_market',
    });
  },
);

test('what a projection reads is declared, and its tables name their own columns as keys', () => {
  for (const { topics, tables } of PROJECTIONS) {
    for (const topic of topics) expect(TOPICS.map(({ name }) => name)).toContain(topic);
    for (const { key, columns } of tables)
      expect(Object.keys(columns)).toEqual(expect.arrayContaining([...key]));
  }
});
