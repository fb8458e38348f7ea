import { randomUUID } from 'node:crypto';
import { expect, inject, onTestFinished, test } from 'vitest';
import { Lease } from '../../../../../services/runtime/kafka/lease.ts';
import { Metrics } from '../../../../../services/runtime/process/metrics.ts';
import { CLIENTS, freshTopic, never, silentLog, testKafka } from '../../../../support/kafka.ts';

const stack = inject('stack');

test.each(CLIENTS)(
  'an instance that halted yields the lease to one that has not, and holds it when all have halted (%s)',
  async (client) => {
    const topic = await freshTopic(testKafka(stack));
    const group_id = `test-${randomUUID()}`;
    const join = async (): Promise<Lease> => {
      const lease = new Lease({
        kafka: testKafka(stack, undefined, {}, client),
        group_id,
        topic,
        session_ms: 2_000,
        log: silentLog(),
        metrics: new Metrics('test'),
        signal: never,
      });
      onTestFinished(() => lease.close());
      await lease.start();
      return lease;
    };
    const first = await join();
    await first.held();
    const second = await join();
    first.yield();
    await second.held();
    expect(first.is_held).toBe(false);
    second.yield();
    await expect.poll(() => Number(first.is_held) + Number(second.is_held)).toBe(1);
    const third = await join();
    await third.held();
    expect([first.is_held, second.is_held]).toEqual([false, false]);
  },
);
