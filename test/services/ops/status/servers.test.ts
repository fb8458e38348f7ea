import { expect, test } from 'vitest';
import {
  primariesOf,
  readBrokers,
  readHosts,
  serversTable,
} from '../../../../services/ops/status/servers.ts';
import { Hosts } from '../../../../services/runtime/postgres/hosts.ts';
import { HANG_MS } from '../../../support/limits.ts';
import { testKafka } from '../../../support/kafka.ts';
import { fakePostgres } from '../../runtime/postgres/fake-postgres.ts';

test('each host of Postgres is named with its state, and those that may be written to once', async () => {
  const [one, other, gone] = [await fakePostgres(), await fakePostgres(), await fakePostgres()];
  const names = [one, other, gone].map(({ name }) => name).join();
  const hosts = new Hosts(`postgres://somebody:password@${names}/clt`);
  one.timeline = '00000001';
  gone.isAway = true;
  expect(await readHosts(hosts, HANG_MS)).toMatchObject([
    { name: one.name, state: 'primary', timeline: '00000001', slots: [] },
    { name: other.name, state: 'replica', timeline: null },
    { name: gone.name, state: 'away', started_at: null },
  ]);
  other.timeline = '00000002';
  other.slots = 'a t reserved 96,b f lost';
  const servers = await readHosts(hosts, HANG_MS);
  expect(primariesOf(servers).map(({ name }) => name)).toEqual([one.name, other.name]);
  expect(servers[1]?.slots).toEqual([
    { name: 'a', is_active: true, is_lost: false, bytes: 96 },
    { name: 'b', is_active: false, is_lost: true, bytes: 0 },
  ]);
});

test('a broker that has replicas and is not in the cluster is away', async () => {
  const kafka = testKafka({ kafka_brokers: '127.0.0.1:1' });
  const brokers = new Map([
    [2, undefined],
    [1, 'one:9092'],
  ]);
  const admin = { ...kafka.admin(), brokers: () => Promise.resolve(brokers) };
  const servers = await readBrokers({
    ...kafka,
    admin: () => Object.assign(admin, { disconnect: () => Promise.resolve() }),
  });
  const [postgres] = await readHosts(
    new Hosts(`postgres://somebody:password@${(await fakePostgres()).name}/clt`),
    HANG_MS,
  );
  const recent = { ...postgres, started_at: 960 };
  expect(
    serversTable([...servers, Object.assign({}, servers[0], recent)], 1_000)
      .split('\n')
      .map((line) => line.trimEnd()),
  ).toEqual([
    expect.stringMatching(/^SERVER/),
    expect.stringMatching(/^kafka +broker 1 at one:9092 +broker$/),
    expect.stringMatching(/^kafka +broker 2 +away$/),
    expect.stringMatching(/^postgres +127.0.0.1:\d+ +replica +started 40 s ago$/),
  ]);
});
