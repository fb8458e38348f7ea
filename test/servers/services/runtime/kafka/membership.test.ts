import { randomUUID } from 'node:crypto';
import { connect, Socket } from 'node:net';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { openKafka } from '../../../../../services/runtime/kafka/client.ts';
import { Membership } from '../../../../../services/runtime/kafka/membership.ts';
import type { Assigned, SocketFactory } from '../../../../../services/runtime/kafka/port.ts';
import { openLog } from '../../../../../services/runtime/process/log.ts';
import { FaultProxy } from '../../../../support/fault-proxy.ts';
import {
  CLIENTS,
  freshTopic,
  never,
  silentLog,
  testKafka,
  withRawAdmin,
} from '../../../../support/kafka.ts';

const stack = inject('stack');
let proxy: FaultProxy;

beforeAll(async () => {
  const port = Number(stack.kafka_brokers.split(':')[1]);
  proxy = await FaultProxy.open({ port, requests: 'kafka' });
});
afterAll(() => proxy.close());

test.each(CLIENTS)(
  'a member that hears nothing from its group leaves it, and joins again when the brokers answer (%s)',
  async (client) => {
    const topic = await freshTopic(testKafka(stack));
    const assigned: (Assigned | undefined)[] = [];
    let lines = '';
    const write = (line: string): void => void (lines += line);
    const membership = new Membership({
      kafka: testKafka(stack, proxy, {}, client),
      group_id: `test-${randomUUID()}`,
      topics: [topic],
      session_ms: 1_000,
      log: openLog({ service: 'test', level: 'warn', destination: { write } }),
      signal: never,
      onAssigned: (partitions) => assigned.push(partitions),
    });
    await membership.start();
    const all = new Map([[topic, [0]]]);
    await expect.poll(() => assigned.at(-1)).toEqual(all);
    proxy.mode = 'black_hole';
    await expect.poll(() => lines).toContain('the group has not answered for 8000 ms');
    proxy.mode = 'pass';
    proxy.cut();
    await expect.poll(() => assigned.slice(-2)).toEqual([undefined, all]);
    await membership.close();
  },
);

test.each(CLIENTS)(
  'one member holds all partitions, keeps them when another joins, and leaves them to it (%s)',
  async (client) => {
    const topic = await freshTopic(testKafka(stack), { partitions: 2 });
    const group_id = `test-${randomUUID()}`;
    const member = (): { readonly membership: Membership; readonly held: number[] } => {
      /** how many partitions, after each assignment */
      const held: number[] = [];
      const membership = new Membership({
        kafka: testKafka(stack, undefined, {}, client),
        group_id,
        topics: [topic],
        session_ms: 6_000,
        log: silentLog(),
        signal: never,
        claim: () => ((held.at(-1) ?? 0) > 0 ? 'holder' : 'standby'),
        onAssigned(partitions) {
          if (partitions !== undefined) held.push(partitions.get(topic)?.length ?? 0);
        },
      });
      return { membership, held };
    };
    const [first, second] = [member(), member()];
    await first.membership.start();
    await expect.poll(() => first.held.at(-1)).toBe(2);
    await second.membership.start();
    await expect.poll(() => second.held.at(-1)).toBe(0);
    await first.membership.close();
    await expect.poll(() => second.held.at(-1)).toBe(2);
    await second.membership.close();
  },
);

test('a member that the group refuses does not start, and learns why', async () => {
  const topic = await freshTopic(testKafka(stack));
  const membership = new Membership({
    kafka: testKafka(stack),
    group_id: `test-${randomUUID()}`,
    topics: [topic],
    // the brokers' least is a second
    session_ms: 500,
    log: silentLog(),
    signal: never,
    onAssigned: () => undefined,
  });
  await expect(membership.start()).rejects.toMatchObject({
    code: 'kafka',
    retry: true,
    message: expect.stringMatching(
      /set APP_KAFKA_SESSION_MS within the brokers' group\.min\.session\.timeout\.ms/,
    ) as unknown,
  });
  await membership.close();
});

test('a member that no broker answers while it joins does not start, and leaves nothing behind', async () => {
  const topic = await freshTopic(testKafka(stack));
  const group_id = `test-${randomUUID()}`;
  const membership = new Membership({
    kafka: testKafka(stack, proxy),
    group_id,
    topics: [topic],
    session_ms: 1_000,
    log: silentLog(),
    signal: never,
    onAssigned: () => undefined,
  });
  proxy.mode = 'black_hole';
  await expect(membership.start()).rejects.toMatchObject({ code: 'kafka', retry: true });
  proxy.mode = 'pass';
  proxy.cut();
  await membership.start();
  const members = (): Promise<number> =>
    withRawAdmin(testKafka(stack), async (admin) => {
      const { groups } = await admin.describeGroups([group_id]);
      return groups[0]?.members.length ?? 0;
    });
  await expect.poll(members).toBe(1);
  await membership.close();
  await expect.poll(members).toBe(0);
});

test('a member that leaves while kafkajs restarts it opens no connection any more', async () => {
  const topic = await freshTopic(testKafka(stack));
  let lines = '';
  const write = (line: string): void => void (lines += line);
  const open: Socket[] = [];
  let isHeld = false;
  let held = 0;
  const settings = {
    kafka_brokers: [stack.kafka_brokers],
    kafka_connect_ms: 500,
    kafka_request_ms: 1_000,
    socket_factory: ({ host, port, onConnect }: Parameters<SocketFactory>[0]) => {
      // one that never connects
      if (isHeld) return (held++, new Socket());
      const socket = connect({ host, port }, onConnect);
      open.push(socket);
      return socket;
    },
  };
  const log = openLog({ service: 'test', level: 'debug', destination: { write } });
  const share = openKafka(settings, 'test', log).share({
    group_id: `test-${randomUUID()}`,
    topics: [topic],
    session_ms: 3_000,
    onAssigned: () => undefined,
    onLeft: () => undefined,
  });
  await share.join();
  isHeld = true;
  for (const socket of open.splice(0)) socket.resetAndDestroy();
  await expect.poll(() => lines).toContain('Restarting the consumer');
  const before = held;
  await expect.poll(() => held, { interval: 5 }).toBeGreaterThan(before);
  lines = '';
  await share.disconnect();
  isHeld = false;
  await expect.poll(() => lines).toContain('Crash');
  expect(open).toEqual([]);
});
