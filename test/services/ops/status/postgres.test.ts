import { expect, test } from 'vitest';
import { primariesFaults } from '../../../../services/ops/status/postgres.ts';
import { Hosts } from '../../../../services/runtime/postgres/hosts.ts';
import { fakePostgres } from '../../runtime/postgres/fake-postgres.ts';

test('two hosts that may be written to are named with their timelines, and one is not', async () => {
  const [one, other] = [await fakePostgres(), await fakePostgres()];
  const hosts = new Hosts(`postgres://somebody:password@${one.name},${other.name}/clt`);
  one.timeline = '00000001';
  expect(await primariesFaults(hosts)).toEqual([]);
  other.timeline = '00000002';
  expect(await primariesFaults(hosts)).toEqual([
    expect.stringContaining(
      `${one.name} (timeline 00000001) and ${other.name} (timeline 00000002)`,
    ),
  ]);
});
