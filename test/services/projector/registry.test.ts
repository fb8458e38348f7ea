import { expect, test } from 'vitest';
import { PROJECTIONS, projectionNamed } from '../../../services/projector/registry.ts';
import { services } from '../../../infra/services/services.ts';
import { endLost } from '../../../services/runtime/kafka/position.ts';
import { readSchemas } from '../../../services/runtime/kafka/avro-schemas.ts';
import { TOPICS } from '../../../schemas/topics.ts';

test('a projection is found by its name', () => {
  expect(PROJECTIONS.map(({ name }) => name)).toEqual([
    'explorer',
    'reserve',
    'deposits',
    'watch',
    'ride_market',
    'series',
  ]);
  for (const projection of PROJECTIONS) expect(projectionNamed(projection.name)).toBe(projection);
});

test.each([undefined, '', 'Explorer', 'toString', '__proto__'])(
  'an unknown name (%s) is refused with a list of all',
  (name) => {
    expect(projectionNamed(name)).toEqual({
      refused:
        'usage: projector <name>, where <name> is one of: explorer, reserve, deposits, watch, ride_market, series',
    });
  },
);

test('the remedy of a lost log has commands for the projection and its service', () => {
  const names = services.map(({ name }) => name);
  for (const { name } of PROJECTIONS) {
    const remedy = endLost('chain.blocks', 0, 1n, 2n).remedyFor(name);
    const service = /npx ops restart (\S+)$/.exec(remedy)?.[1];
    expect(remedy).toContain(`npx ops rebuild ${name}, then`);
    expect(names).toContain(service);
  }
});

test('a projection declares its topics, and keys are columns of its tables', () => {
  for (const { topics, tables } of PROJECTIONS) {
    for (const topic of topics) expect(TOPICS.map(({ name }) => name)).toContain(topic);
    for (const { key, columns } of tables)
      expect(Object.keys(columns)).toEqual(expect.arrayContaining([...key]));
  }
});

test('the fields that a projection does not read can be skipped', async () => {
  for (const projection of PROJECTIONS)
    await projection.with(({ topics, unread }) =>
      readSchemas(
        TOPICS.filter(({ name }) => topics.includes(name)),
        unread,
      ),
    );
});
