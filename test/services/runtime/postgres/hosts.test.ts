import { array, assert, asyncProperty, constantFrom } from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { HostClient } from '../../../../services/runtime/postgres/host-client.ts';
import {
  Hosts,
  showHosts,
  type Need,
  type Use,
} from '../../../../services/runtime/postgres/hosts.ts';
import { Metrics } from '../../../../services/runtime/process/metrics.ts';
import { fakePostgres, type FakePostgres } from './fake-postgres.ts';
import { HANG_MS } from '../../../support/limits.ts';

function urlOf(hosts: readonly FakePostgres[]): string {
  return `postgres://somebody:password@${hosts.map(({ name }) => name).join(',')}/clt`;
}

function need(use: Use, stale_ms = HANG_MS): Need {
  return { use, connect_ms: HANG_MS, stale_ms };
}

async function chosen(hosts: Hosts, use: Use, stale_ms = HANG_MS): Promise<string> {
  return await hosts.choose(need(use, stale_ms)).then(
    ({ host, port }) => `${host}:${port}`,
    (error: unknown) => String(error),
  );
}

function labelOf({ name }: FakePostgres): string {
  return `host="${name}"`;
}

/** A connection, which the test closes, and the error that ends it. */
async function connected(
  url: string,
  use: Use,
  stale_ms = HANG_MS,
): Promise<{ readonly host: string; readonly errors: readonly string[] }> {
  const client = new HostClient(url, use, { connectionTimeoutMillis: HANG_MS }, stale_ms);
  const errors: string[] = [];
  client.on('error', (error) => void errors.push(String(error)));
  onTestFinished(() => void client.end().catch(() => undefined));
  await client.connect();
  return { host: `${client.host}:${client.port}`, errors };
}

const USES: readonly Use[] = ['read-write', 'any'];

test.each(USES)('a former primary is refused (%s), also when the new one is away', async (use) => {
  const [former, newer] = [await fakePostgres(), await fakePostgres()];
  former.timeline = '00000001';
  newer.timeline = '00000002';
  const hosts = new Hosts(urlOf([former, newer]));
  expect(await chosen(hosts, use)).toBe(newer.name);
  newer.isAway = true;
  expect(await chosen(hosts, use)).toMatch(/was replaced: its timeline is 00000001/);
  newer.isAway = false;
  // the question of before may still be on its way
  await expect.poll(() => chosen(hosts, use)).toBe(newer.name);
});

test.each(USES)('an open connection (%s) to a former primary is ended', async (use) => {
  const [former, replica] = [await fakePostgres(), await fakePostgres()];
  former.timeline = '00000001';
  const url = urlOf([former, replica]);
  const before = await connected(url, use);
  expect(before.host).toBe(former.name);
  replica.timeline = '00000002';
  await expect.poll(() => former.sessions()).toBe(0);
  expect(before.errors.join()).toMatch(/was replaced/);
  expect((await connected(url, use)).host).toBe(replica.name);
});

test('a name that leads to a former primary is refused, also where it is the only one', async () => {
  const one = await fakePostgres();
  one.timeline = '00000002';
  const url = urlOf([one]);
  await connected(url, 'read-write');
  one.timeline = '00000001';
  await expect(connected(url, 'any')).rejects.toThrow(/was replaced/);
});

test('a standby is read as long as it follows, and left when it is behind for too long', async () => {
  const [standby, primary] = [await fakePostgres(), await fakePostgres()];
  primary.timeline = '00000001';
  const url = urlOf([standby, primary]);
  const reading = await connected(url, 'any', 1);
  expect(reading.host).toBe(standby.name);
  primary.position = 10n;
  await expect.poll(() => standby.sessions()).toBe(0);
  expect(reading.errors.join()).toMatch(/is a standby more than 0.001 s behind/);
  standby.position = 10n;
  expect((await connected(url, 'any', 1)).host).toBe(standby.name);
});

test('a standby behind a primary that is away is read: nothing else has more', async () => {
  const [standby, primary] = [await fakePostgres(), await fakePostgres()];
  primary.timeline = '00000001';
  primary.position = 10n;
  const hosts = new Hosts(urlOf([standby, primary]));
  expect(await chosen(hosts, 'any')).toBe(standby.name);
  await expect.poll(() => chosen(hosts, 'any', 1)).toBe(primary.name);
  primary.isAway = true;
  expect(await chosen(hosts, 'any', 1)).toBe(standby.name);
  expect(await chosen(hosts, 'read-write')).toMatch(/no Postgres may be written to/);
});

test('hosts that may be written to are counted, two names of one server once', async () => {
  const [one, other] = [await fakePostgres(), await fakePostgres()];
  one.timeline = '00000001';
  const url = urlOf([one, other, one]);
  const metrics = new Metrics('test', { of_process: false });
  showHosts(metrics, url);
  const shown = async (): Promise<string> => {
    await Hosts.of(url).look(HANG_MS);
    return await metrics.text();
  };
  expect(await shown()).toContain('postgres_primaries{service="test"} 0\n');
  await connected(url, 'read-write');
  expect(await shown()).toContain('postgres_primaries{service="test"} 1\n');
  other.timeline = '00000002';
  await connected(url, 'read-write');
  expect(await shown()).toContain('postgres_primaries{service="test"} 2\n');
});

test('each host is shown while a connection is open: up or not, how far behind, and its slots', async () => {
  const [standby, primary] = [await fakePostgres(), await fakePostgres()];
  primary.timeline = '00000001';
  primary.slots = 'postgres_2 t reserved 96,postgres_3 f lost';
  const url = urlOf([standby, primary]);
  const metrics = new Metrics('test', { of_process: false });
  showHosts(metrics, url);
  expect(await metrics.text()).not.toContain('host=');
  await connected(url, 'read-write');
  await expect
    .poll(() => metrics.text())
    .toContain(`postgres_replica_behind_seconds{${labelOf(standby)},service="test"} 0\n`);
  const text = await metrics.text();
  for (const host of [standby, primary])
    expect(text).toContain(`postgres_host_up{${labelOf(host)},service="test"} 1\n`);
  expect(text).toContain(
    `postgres_slot_bytes{${labelOf(primary)},slot="postgres_2",service="test"} 96\n`,
  );
  expect(text).toContain(
    `postgres_slot_bytes{${labelOf(primary)},slot="postgres_3",service="test"} 0\n`,
  );
  expect(text).not.toContain(`postgres_replica_behind_seconds{${labelOf(primary)}`);
  primary.position = 10n;
  await expect
    .poll(() => metrics.text())
    .toMatch(/postgres_replica_behind_seconds\{[^}]*\} (?:0\.0*[1-9]|[1-9])/);
  standby.isAway = true;
  standby.crash();
  await expect
    .poll(() => metrics.text())
    .toContain(`postgres_host_up{${labelOf(standby)},service="test"} 0\n`);
});

/** A host at a moment: away, a standby, or a primary of that timeline. */
const moments = array(
  array(constantFrom('away', 'standby', '00000001', '00000002', '00000003', '0000000A'), {
    minLength: 3,
    maxLength: 3,
  }),
  { minLength: 1, maxLength: 6 },
);

test('no use is ever given a primary older than one that was seen, whatever three hosts say', async () => {
  const fakes = [await fakePostgres(), await fakePostgres(), await fakePostgres()];
  await assert(
    asyncProperty(moments, constantFrom(...USES), async (told, use) => {
      const hosts = new Hosts(urlOf(fakes));
      let newest = '';
      for (const states of told) {
        for (const [at, fake] of fakes.entries()) {
          const state = states[at] ?? 'away';
          fake.isAway = state === 'away';
          fake.timeline = state.startsWith('0') ? state : undefined;
        }
        newest =
          [newest, ...states.filter((state) => state.startsWith('0'))].toSorted().at(-1) ?? '';
        const name = await chosen(hosts, use);
        const given = fakes.find((fake) => fake.name === name);
        if (given === undefined) continue;
        expect(given.isAway).toBe(false);
        if (given.timeline !== undefined || use === 'read-write')
          expect(given.timeline).toBe(newest);
      }
    }),
    { numRuns: 30 },
  );
});
