import { expect, test } from 'vitest';
import { PROJECTIONS, projectionNamed } from '../../../services/projector/projections.ts';
import { TOPICS } from '../../../schemas/topics.ts';

test('a projection is found by its name', () => {
  expect(Object.keys(PROJECTIONS)).toContain('explorer');
  for (const [name, projection] of Object.entries(PROJECTIONS)) {
    expect(projectionNamed(name)).toBe(projection);
    expect(projection.name).toBe(name);
  }
});

test.each([undefined, '', 'Explorer', 'toString', '__proto__'])('a name that is none (%s) is refused with those there are', (name) => {
  expect(projectionNamed(name)).toEqual({ refused: 'usage: projector <name>, where <name> is one of: explorer' });
});

test('what a projection reads is declared, and its tables name their own columns as keys', () => {
  for (const { topics, tables } of Object.values(PROJECTIONS)) {
    for (const topic of topics) expect(TOPICS.map(({ name }) => name)).toContain(topic);
    for (const { key, columns } of tables) expect(Object.keys(columns)).toEqual(expect.arrayContaining([...key]));
  }
});
