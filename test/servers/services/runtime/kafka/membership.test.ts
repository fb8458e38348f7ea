import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { Membership } from '../../../../../services/runtime/kafka/membership.ts';
import type { Assigned } from '../../../../../services/runtime/kafka/port.ts';
import { openLog } from '../../../../../services/runtime/process/log.ts';
import { FaultProxy } from '../../../../support/fault-proxy.ts';
import { freshTopic, never, testKafka } from '../../../../support/kafka.ts';

const stack = inject('stack');
let proxy: FaultProxy;

beforeAll(async () => {
  const port = Number(stack.kafka_brokers.split(':')[1]);
  proxy = await FaultProxy.open({ port, requests: 'kafka' });
});
afterAll(() => proxy.close());

test('a member that hears nothing from its group leaves it, and joins again when the brokers answer', async () => {
  const topic = await freshTopic(testKafka(stack));
  const assigned: (Assigned | undefined)[] = [];
  let lines = '';
  const write = (line: string): void => void (lines += line);
  const membership = new Membership({
    kafka: testKafka(stack, proxy),
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
});
