import { expect, test } from 'vitest';
import { readPrimaries } from '../../../../services/ops/status/postgres.ts';
import { Hosts } from '../../../../services/runtime/postgres/hosts.ts';
import { HANG_MS } from '../../../support/limits.ts';
import { fakePostgres } from '../../runtime/postgres/fake-postgres.ts';

test('the hosts that may be written to are named with their timelines', async () => {
  const [one, other] = [await fakePostgres(), await fakePostgres()];
  const hosts = new Hosts(`postgres://somebody:password@${one.name},${other.name}/clt`);
  one.timeline = '00000001';
  expect(await readPrimaries(hosts, HANG_MS)).toEqual([{ name: one.name, timeline: '00000001' }]);
  other.timeline = '00000002';
  expect(await readPrimaries(hosts, HANG_MS)).toEqual([
    { name: one.name, timeline: '00000001' },
    { name: other.name, timeline: '00000002' },
  ]);
});
