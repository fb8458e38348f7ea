import { expect, test } from 'vitest';
import type { Appender, Kafka } from '../../../../services/runtime/kafka/port.ts';
import { KafkaWriter } from '../../../../services/runtime/kafka/writer.ts';
import { never, numbered, silentLog, testKafka } from '../../../support/kafka.ts';

/** A client whose appends fail with these errors, one after the other. */
function failing(...errors: readonly Error[]): Kafka {
  const left = [...errors];
  const appender: Appender = {
    connect: () => Promise.resolve(),
    append: () => Promise.reject(left.shift() ?? new Error('one append too many')),
    disconnect: () => Promise.resolve(),
  };
  return { ...testKafka({ kafka_brokers: '127.0.0.1:1' }), appender: () => appender };
}

const ahead = Object.assign(new Error('no'), { type: 'INVALID_TIMESTAMP' });
const refusal = Object.assign(new Error('no'), { type: 'TOPIC_AUTHORIZATION_FAILED' });

test.each([
  ['append_refused', false, [refusal]],
  ['clock_ahead', true, [ahead]],
  ['append_unknown', true, [new Error('the connection was closed'), refusal]],
  ['append_unknown', true, [new Error('the connection was closed'), ahead]],
] as const)('a batch that is refused is told as %s', async (code, retry, errors) => {
  const writer = new KafkaWriter(failing(...errors), {
    log: silentLog(),
    signal: never,
    retry_ms_min: 1,
  });
  await expect(writer.append('topic', 0, numbered(0, 1))).rejects.toMatchObject({ code, retry });
  await writer.close();
});
