import { expect, test } from 'vitest';
import { readPrimaries } from '../../../../services/ops/status/postgres.ts';
import { Hosts } from '../../../../services/runtime/postgres/hosts.ts';
import { HANG_MS } from '../../../support/limits.ts';
import { fakePostgres } from '../../runtime/postgres/fake-postgres.ts';

test('the hosts that may be written to are named with their timelines and slots', async () => {
  const [one, other] = [await fakePostgres(), await fakePostgres()];
  const hosts = new Hosts(`postgres://somebody:password@${one.name},${other.name}/clt`);
  one.timeline = '00000001';
  const first = { name: one.name, timeline: '00000001', slots: [] };
  expect(await readPrimaries(hosts, HANG_MS)).toEqual([first]);
  other.timeline = '00000002';
  other.slots = 'a t reserved 96,b f lost';
  const slots = [
    { name: 'a', is_active: true, is_lost: false, bytes: 96 },
    { name: 'b', is_active: false, is_lost: true, bytes: 0 },
  ];
  expect(await readPrimaries(hosts, HANG_MS)).toEqual([
    first,
    { name: other.name, timeline: '00000002', slots },
  ]);
});
