import { Redis } from 'ioredis';
import { Client } from 'pg';
import { expect, inject, onTestFinished, test } from 'vitest';
import { deposits } from '../../../../projections/deposits/deposits.ts';
import { toHex } from '../../../../schemas/address.ts';
import { toTronAddress } from '../../../../schemas/tron-address.ts';
import type { DepositAddressEvent } from '../../../../schemas/deposit.addresses/events.ts';
import { accountAt, depositKey, OTHER_XPUB, XPUB } from '../../../support/deposit-log.ts';
import { freshDatabase } from '../../../support/database.ts';
import { FaultProxy } from '../../../support/fault-proxy.ts';
import { openTables } from '../../../projections/deposits/applied.ts';
import { badTokens, SECRET } from '../../../support/tokens.ts';
import {
  openWorld,
  type Gateway,
  type World,
} from '../../../services/deposit-gateway/deposit-world.ts';

async function ready(world: World, gateways = 1): Promise<Gateway[]> {
  world.startProjector();
  const started = await Promise.all(Array.from({ length: gateways }, () => world.startGateway()));
  await Promise.all(started.map(({ serving }) => serving));
  return started;
}

/** Order does not matter. */
function sorted(texts: readonly string[]): readonly string[] {
  return texts.toSorted((a, b) => (a < b ? -1 : 1));
}

function requestsIn(events: readonly DepositAddressEvent[]): readonly string[] {
  return events.flatMap((event) =>
    event.type === 'AddressRequested' ? [event.clt_address.toString('hex')] : [],
  );
}

function countOf(
  events: readonly DepositAddressEvent[],
  type: DepositAddressEvent['type'],
): number {
  return events.filter((event) => event.type === type).length;
}

test('POST twice gives one address, the first index to the first account and the second to the second', async () => {
  const world = await openWorld(inject('stack'));
  const [gateway] = await ready(world);
  if (gateway === undefined) throw new Error('there is no gateway');
  expect(await gateway.open(accountAt(7))).toBe('TWer2Ygk5TEheHp3TPuYeqxmB6SsGZmaL6');
  expect(await gateway.open(accountAt(7))).toBe('TWer2Ygk5TEheHp3TPuYeqxmB6SsGZmaL6');
  expect(await gateway.open(accountAt(3))).toBe('TPjjvMwjPoDC32V2dGDYTkLH4E5LAtBZ6C');
  expect(await gateway.open(accountAt(7))).toBe('TWer2Ygk5TEheHp3TPuYeqxmB6SsGZmaL6');
  const events = await world.events();
  expect(events.map(({ type }) => type)).toEqual([
    'SchemePinned',
    'AddressRequested',
    'PanelOpened',
    'AddressRequested',
    'PanelOpened',
  ]);
  expect(requestsIn(events)).toEqual(
    [accountAt(7), accountAt(3)].map((account) => account.toString('hex')),
  );
  expect((await gateway.ask('GET', '/api/v1/deposits', accountAt(7))).text).toBe('{"deposits":[]}');
});

test('80 parallel first POSTs of 20 users through two gateways: one address a user, and the indices are dense', async () => {
  const world = await openWorld(inject('stack'));
  const gateways = await ready(world, 2);
  const posts = Array.from({ length: 80 }, (_, at) => ({
    user: (at * 7) % 20,
    gateway: gateways[at % 2],
  }));
  const answers = await Promise.all(
    posts.map(async ({ user, gateway }) => ({
      user,
      address: await gateway?.open(accountAt(user)),
    })),
  );
  const addresses = new Map<number, Set<string | undefined>>();
  for (const { user, address } of answers)
    addresses.set(user, (addresses.get(user) ?? new Set()).add(address));
  expect(addresses.size).toBe(20);
  const given = [...addresses.values()].flatMap((each) => Array.from(each, String));
  expect(given).toHaveLength(20);
  const dense = Array.from({ length: 20 }, (_, index) =>
    toTronAddress(depositKey().addressAt(index)),
  );
  expect(sorted(given)).toEqual(sorted(dense));
  const events = await world.events();
  // those of a lost race have no effect
  const counted = events.filter(({ sequence }, offset) => sequence === offset);
  expect(countOf(counted, 'SchemePinned')).toBe(1);
  const requests = requestsIn(counted);
  expect(requests).toHaveLength(20);
  for (const { user, address } of answers)
    expect(address).toBe(dense[requests.indexOf(accountAt(user).toString('hex'))]);
});

test('the log has no key, and an address that the key does not derive is shown to nobody', async () => {
  const world = await openWorld(inject('stack'));
  const [gateway] = await ready(world);
  if (gateway === undefined) throw new Error('there is no gateway');
  await gateway.open(accountAt(1));
  for (const event of await world.events()) expect(JSON.stringify(event)).not.toContain('xpub');
  const sequence = (await world.events()).length;
  await world.append({
    type: 'AddressRequested',
    clt_address: accountAt(2),
    requested_at: 0,
    sequence,
    derivation_index: 1,
    deposit_address: Buffer.alloc(20, 0xbd),
  });
  // the gateway's own request loses the race, and then finds the account known
  const answer = await gateway.ask('POST', '/api/v1/deposits', accountAt(2));
  expect([answer.status, answer.text]).toEqual([503, expect.not.stringContaining('address":')]);
  expect(gateway.lines.join('')).toContain('address_forged');
  expect(await gateway.open(accountAt(3))).toBe(toTronAddress(depositKey().addressAt(2)));
});

test('behind a record that breaks the chain known addresses are shown, also after a restart, and no new one', async () => {
  const world = await openWorld(inject('stack'));
  const [gateway] = await ready(world);
  if (gateway === undefined) throw new Error('there is no gateway');
  const known = await gateway.open(accountAt(1));
  const sequence = (await world.events()).length;
  const previous = Buffer.alloc(32, 1);
  const damaged = { type: 'PanelOpened', clt_address: accountAt(1), opened_at: 0 } as const;
  await world.append({ ...damaged, sequence, previous });
  const settings = { APP_ADDRESS_WAIT_MS: '100' };
  const restarted = await world.startGateway(settings);
  await restarted.serving;
  for (const each of [gateway, restarted]) expect(await each.open(accountAt(1))).toBe(known);
  const { status, text } = await restarted.ask('POST', '/api/v1/deposits', accountAt(2));
  expect([status, text]).toEqual([503, expect.not.stringContaining('address":')]);
  await expect
    .poll(async () => await (await fetch(`${restarted.url}/ready`)).text())
    .toContain(`the record at offset ${sequence} cannot be applied`);
  expect((await world.events()).length).toBe(sequence + 1);
  await restarted.stop();
});

test('in the log of an older writer addresses go on', async () => {
  const world = await openWorld(inject('stack'));
  await world.append(
    { type: 'SchemePinned', scheme: 'hd', extended_public_key: XPUB, pinned_at: 0 },
    { type: 'AddressRequested', clt_address: accountAt(4), requested_at: 0 },
  );
  const [gateway] = await ready(world);
  expect(await gateway?.open(accountAt(4))).toBe('TWer2Ygk5TEheHp3TPuYeqxmB6SsGZmaL6');
  expect(await gateway?.open(accountAt(5))).toBe('TPjjvMwjPoDC32V2dGDYTkLH4E5LAtBZ6C');
});

test('concurrent requests of one user are one request in the log', async () => {
  const world = await openWorld(inject('stack'));
  const [gateway] = await ready(world);
  if (gateway === undefined) throw new Error('there is no gateway');
  const given = await Promise.all(Array.from({ length: 40 }, () => gateway.open(accountAt(1))));
  expect(new Set(given)).toEqual(new Set(['TWer2Ygk5TEheHp3TPuYeqxmB6SsGZmaL6']));
  expect(requestsIn(await world.events())).toHaveLength(1);
  expect(await gateway.counted('deposit_addresses_total', 'new')).toBe(1);
});

test('a late address is 503; a retry appends nothing and gives the address once it is there', async () => {
  const world = await openWorld(inject('stack'));
  const projector = world.startProjector();
  const gateway = await world.startGateway({ APP_ADDRESS_WAIT_MS: '300' });
  await gateway.serving;
  await projector.stop();
  for (let times = 0; times < 3; times++) {
    const late = await gateway.ask('POST', '/api/v1/deposits', accountAt(1));
    expect([late.status, late.headers.get('retry-after')]).toEqual([503, '1']);
  }
  expect(requestsIn(await world.events())).toHaveLength(1);
  expect(await gateway.counted('deposit_addresses_total', 'late')).toBe(3);
  world.startProjector();
  await expect
    .poll(async () => (await gateway.ask('POST', '/api/v1/deposits', accountAt(1))).status)
    .toBe(200);
  expect(requestsIn(await world.events())).toHaveLength(1);
});

test('an address is given without Redis', async () => {
  const world = await openWorld(inject('stack'));
  world.startProjector({ redis_url: 'redis://127.0.0.1:1' });
  const gateway = await world.startGateway({ APP_REDIS_URL: 'redis://127.0.0.1:1' });
  await gateway.serving;
  expect(await gateway.open(accountAt(1))).toBe('TWer2Ygk5TEheHp3TPuYeqxmB6SsGZmaL6');
});

test('malformed notifications do no harm', async () => {
  const world = await openWorld(inject('stack'));
  const [gateway] = await ready(world);
  const redis = new Redis(world.stack.redis_url);
  for (const message of [
    '',
    '{',
    'null',
    '[]',
    '{"keys":3}',
    '{"keys":[1,null,{}]}',
    '{"keys":[]}',
  ])
    await redis.publish('projection:deposits', message);
  expect(await gateway?.open(accountAt(1))).toBe('TWer2Ygk5TEheHp3TPuYeqxmB6SsGZmaL6');
  redis.disconnect();
});

test('an opened panel is appended once in ten minutes an address, and by another gateway not right after the first request', async () => {
  const world = await openWorld(inject('stack'));
  world.startProjector();
  let now = Date.parse('2026-11-21T07:00:00Z');
  const [one, other] = [
    await world.startGateway({}, () => now),
    await world.startGateway({}, () => now),
  ];
  await Promise.all([one.serving, other.serving]);
  const opened = async (): Promise<number> => countOf(await world.events(), 'PanelOpened');
  await one.open(accountAt(1));
  expect(await opened()).toBe(1);
  now += 10 * 60_000 - 1;
  await one.open(accountAt(1));
  await other.open(accountAt(1));
  expect([
    await one.counted('deposit_panels_total', 'coalesced'),
    await other.counted('deposit_panels_total', 'coalesced'),
  ]).toEqual([1, 1]);
  now += 1;
  for (let times = 0; times < 5; times++) await one.open(accountAt(1));
  await expect.poll(opened).toBe(2);
  expect(await one.counted('deposit_panels_total', 'coalesced')).toBe(5);
  const last = (await world.events()).at(-1);
  expect(last).toMatchObject({ type: 'PanelOpened', clt_address: accountAt(1), opened_at: now });
  // after a restart nothing is remembered but what the read model knows
  now += 20 * 60_000;
  const restarted = await world.startGateway({}, () => now);
  await restarted.serving;
  await restarted.open(accountAt(1));
  await expect.poll(opened).toBe(3);
});

test('a client that requests too many new addresses, of any gateway, gets Retry-After, and still gets known ones', async () => {
  const world = await openWorld(inject('stack'));
  world.startProjector();
  const settings = { APP_ADDRESSES_PER_MINUTE: '1', APP_ADDRESSES_BURST: '2' };
  const other = await world.startGateway(settings);
  const gateway = await world.startGateway(settings);
  await Promise.all([gateway.serving, other.serving]);
  const given = [await gateway.open(accountAt(1)), await other.open(accountAt(2))];
  const refused = await gateway.ask('POST', '/api/v1/deposits', accountAt(3));
  expect(refused).toMatchObject({
    status: 429,
    text: expect.stringMatching(/^{"error":"too many new addresses: try again in \d+ s"}$/),
  });
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  expect([await gateway.open(accountAt(1)), await gateway.open(accountAt(2))]).toEqual(given);
  expect(await gateway.counted('deposit_addresses_total', 'refused')).toBe(1);
  expect(countOf(await world.events(), 'AddressRequested')).toBe(2);
});

test('two gateways together serve a client as many requests as one of them would', async () => {
  const world = await openWorld(inject('stack'));
  world.startProjector();
  const settings = { APP_RATE_PER_SECOND: '1', APP_RATE_BURST: '20' };
  const gateways = [await world.startGateway(settings), await world.startGateway(settings)];
  await Promise.all(gateways.map(({ serving }) => serving));
  const [one, other] = gateways.map((gateway) => async (): Promise<number> => {
    const { status } = await gateway.ask('GET', '/api/v1/deposits', accountAt(1));
    return status;
  });
  if (one === undefined || other === undefined) throw new Error('there are not two gateways');
  await expect.poll(one).toBe(429);
  // one that passes tells this gateway of the other
  expect(await other()).toBe(200);
  let passed = 1;
  await expect
    .poll(async () => {
      const status = await other();
      if (status === 200) passed++;
      return status;
    })
    .toBe(429);
  expect(passed).toBeLessThan(20);
});

test('a gateway whose read model lacks what its log had a minute ago is not ready until it has it', async () => {
  const world = await openWorld(inject('stack'));
  const projector = world.startProjector();
  let now = Date.parse('2026-11-21T07:00:00Z');
  const gateway = await world.startGateway({ APP_ADDRESS_WAIT_MS: '100' }, () => now);
  await gateway.serving;
  const readiness = async (): Promise<string> => (await fetch(`${gateway.url}/ready`)).text();
  await expect.poll(readiness).not.toContain('deposits');
  await projector.stop();
  const late = await gateway.ask('POST', '/api/v1/deposits', accountAt(1));
  expect(late.status).toBe(503);
  expect(await readiness()).not.toContain('lacks');
  // the append may still be on its way
  await expect
    .poll(() => {
      now += 60_000;
      return readiness();
    })
    .toContain('projection deposits lacks 2 records that deposit.addresses had 60 s ago');
  world.startProjector();
  await expect.poll(readiness).not.toContain('lacks');
});

test('the first gateway pins the key; later ones find it and append nothing', async () => {
  const world = await openWorld(inject('stack'));
  world.startProjector();
  const first = await world.startGateway();
  await first.serving;
  expect(await world.events()).toEqual([
    {
      type: 'SchemePinned',
      scheme: 'hd',
      extended_public_key: '',
      fingerprint: depositKey().fingerprint,
      pinned_at: expect.any(Number),
      sequence: 0,
      previous: Buffer.alloc(0),
    },
  ]);
  await first.stop();
  for (let times = 0; times < 2; times++) await (await world.startGateway()).serving;
  expect(await world.events()).toHaveLength(1);
});

test('gateways that start together on an empty log all serve, and the first event pins the key', async () => {
  const world = await openWorld(inject('stack'));
  const gateways = await ready(world, 3);
  const addresses = await Promise.all(gateways.map((gateway) => gateway.open(accountAt(1))));
  expect(new Set(addresses)).toEqual(new Set(['TWer2Ygk5TEheHp3TPuYeqxmB6SsGZmaL6']));
  expect((await world.events())[0]?.type).toBe('SchemePinned');
});

test('a gateway with another key refuses to start, shows the fingerprint of the pinned one and appends nothing', async () => {
  const world = await openWorld(inject('stack'));
  await ready(world);
  const wrong = await world.startGateway({ APP_DEPOSIT_XPUB: OTHER_XPUB });
  await expect(wrong.serving).rejects.toMatchObject({
    name: 'ConfigError',
    problems: [
      expect.stringContaining(
        `pinned to the one with fingerprint ${toHex(depositKey().fingerprint)} for ever`,
      ),
    ],
  });
  expect((await wrong.ask('POST', '/api/v1/deposits', accountAt(1))).status).toBe(503);
  expect(await world.events()).toHaveLength(1);
});

test('a gateway needs no projector to pin the key', async () => {
  const world = await openWorld(inject('stack'));
  const gateway = await world.startGateway();
  await gateway.serving;
  expect(countOf(await world.events(), 'SchemePinned')).toBe(1);
  await expect
    .poll(async () => (await fetch(`${gateway.url}/ready`)).text())
    .toBe('{"status":"ready"}');
});

test('a gateway that starts before the projector has made its tables waits for them', async () => {
  const world = await openWorld(inject('stack'));
  const { reader_url, writer_url } = await freshDatabase(world.stack);
  const gateway = await world.startGateway({ APP_POSTGRES_READER_URL: reader_url });
  const readiness = async (): Promise<string> => (await fetch(`${gateway.url}/ready`)).text();
  await expect.poll(readiness).toContain('deposits: storage_missing');
  expect((await gateway.ask('POST', '/api/v1/deposits', accountAt(1))).status).toBe(503);
  const pool = await openTables(writer_url, deposits);
  await pool.end();
  await expect.poll(readiness).toBe('{"status":"ready"}');
});

test('a gateway that starts while Kafka is away serves lists and no address, and /ready says so', async () => {
  const world = await openWorld(inject('stack'));
  const [healthy] = await ready(world);
  await healthy?.open(accountAt(1));
  const gateway = await world.startGateway({ APP_KAFKA_BROKERS: '127.0.0.1:1' });
  await expect.poll(async () => (await fetch(`${gateway.url}/ready`)).text()).toContain('log: ');
  expect((await gateway.ask('GET', '/api/v1/deposits', accountAt(1))).status).toBe(200);
  const post = await gateway.ask('POST', '/api/v1/deposits', accountAt(1));
  expect([post.status, post.text]).toEqual([
    503,
    '{"error":"the service is starting: try again shortly"}',
  ]);
  await gateway.stop();
});

test('while Kafka is away known addresses are served, new ones are 503, and /ready says so', async () => {
  const world = await openWorld(inject('stack'));
  world.startProjector();
  const port = Number(world.stack.kafka_brokers.split(':')[1]);
  const proxy = await FaultProxy.open({ port });
  onTestFinished(() => proxy.close());
  const gateway = await world.startGateway({ APP_ADDRESS_WAIT_MS: '300' }, Date.now, proxy);
  await gateway.serving;
  const known = await gateway.open(accountAt(1));
  proxy.mode = 'black_hole';
  expect(await gateway.open(accountAt(1))).toBe(known);
  expect((await gateway.ask('POST', '/api/v1/deposits', accountAt(2))).status).toBe(503);
  await expect.poll(async () => (await fetch(`${gateway.url}/ready`)).text()).toContain('log: ');
  await gateway.stop();
});

test('a shutdown answers waiting callers at once', async () => {
  const world = await openWorld(inject('stack'));
  const projector = world.startProjector();
  const gateway = await world.startGateway();
  await gateway.serving;
  await projector.stop();
  const waiting = gateway.ask('POST', '/api/v1/deposits', accountAt(1));
  await expect.poll(async () => requestsIn(await world.events()).length).toBe(1);
  await gateway.stop();
  expect((await waiting).status).toBe(503);
});

test('the log at level trace holds no token and no secret', async () => {
  const world = await openWorld(inject('stack'));
  const [gateway] = await ready(world);
  if (gateway === undefined) throw new Error('there is no gateway');
  await gateway.open(accountAt(1));
  const bad = Object.values(badTokens(Math.floor(Date.now() / 1_000))).map(
    (token) => `Bearer ${token}`,
  );
  for (const authorization of bad)
    await fetch(`${gateway.url}/api/v1/deposits`, { method: 'POST', headers: { authorization } });
  const holder = new Client({ connectionString: world.writer_url });
  await holder.connect();
  await holder.query('ALTER TABLE deposits.deposits RENAME TO elsewhere');
  await holder.end();
  expect((await gateway.ask('GET', '/api/v1/deposits', accountAt(1))).status).toBe(503);
  const text = gateway.lines.join('');
  expect(text).toContain('"level":"error"');
  expect(text).not.toContain(SECRET);
  expect(text).not.toMatch(/eyJ|clt_reader:/);
  for (const header of bad)
    for (const part of header.slice(7).split('.'))
      if (part.length > 20) expect(text.includes(part), part.slice(0, 40)).toBe(false);
});
