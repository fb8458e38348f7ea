/** Heartbeats of kafkajs on a machine whose clock is set back. */
import { createRequire } from 'node:module';
import { EventEmitter } from 'node:events';
import { afterEach, expect, test, vi } from 'vitest';
import { openKafkajs } from '../../../../../services/runtime/kafka/kafkajs/client.ts';
import { silentLog } from '../../../../support/kafka.ts';

interface Group {
  memberId: string;
  coordinator: { readonly heartbeat: () => Promise<void> };
  heartbeat(options: { readonly interval: number }): Promise<void>;
}

const require = createRequire(import.meta.url);
const ConsumerGroup: new (options: object) => Group = require('kafkajs/src/consumer/consumerGroup');

const INTERVAL_MS = 1_000;

afterEach(() => void vi.useRealTimers());

test.each([-3_600_000, -2_000, 0, 2_000])(
  'a member whose clock jumps by %d ms is heard after each interval',
  async (jump) => {
    vi.useFakeTimers({ toFake: ['Date'] });
    openKafkajs({ kafka_brokers: ['nowhere:1'] }, 'test', silentLog());
    const group = new ConsumerGroup({
      logger: { namespace: () => undefined },
      topics: [],
      topicConfigurations: {},
      instrumentationEmitter: new EventEmitter(),
    });
    let heard = 0;
    group.memberId = 'a';
    group.coordinator = { heartbeat: () => Promise.resolve(void heard++) };
    const after = async (ms: number): Promise<number> => {
      vi.setSystemTime(Date.now() + ms);
      await group.heartbeat({ interval: INTERVAL_MS });
      return heard;
    };
    expect(await after(INTERVAL_MS)).toBe(1);
    await after(jump);
    const before = heard;
    expect(await after(INTERVAL_MS)).toBe(before + 1);
  },
);
