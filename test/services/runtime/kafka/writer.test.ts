import { expect, test } from 'vitest';
import {
  topicMissing,
  type Appended,
  type Appender,
  type Kafka,
} from '../../../../services/runtime/kafka/port.ts';
import type { Fault } from '../../../../services/runtime/process/errors.ts';
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

test('why a batch is not acknowledged is known until it is', async () => {
  const acknowledged = Promise.withResolvers<Appended>();
  const answers = [
    () => Promise.reject(Object.assign(new Error('no'), { type: 'NOT_ENOUGH_REPLICAS' })),
    () => Promise.reject(topicMissing('treasury.ledger', undefined)),
    () => acknowledged.promise,
  ];
  const faults: (Fault | undefined)[] = [];
  const kafka = failing();
  const writer = new KafkaWriter(
    {
      ...kafka,
      appender: () => ({
        ...kafka.appender(),
        append: () => {
          faults.push(writer.fault);
          return answers.shift()?.() ?? Promise.reject(new Error('one append too many'));
        },
      }),
    },
    { log: silentLog(), signal: never, retry_ms_min: 1 },
  );
  const sent = writer.append('treasury.ledger', 0, numbered(0, 1));
  await expect.poll(() => faults.length).toBe(3);
  expect(faults[0]).toBeUndefined();
  expect(faults[1]).toMatchObject({ code: 'kafka', shown: expect.stringContaining('REPLICAS') });
  expect(faults[2]).toMatchObject({ code: 'topic_missing' });
  acknowledged.resolve({ offset: 7n, bytes: 1 });
  expect(await sent).toBe(7n);
  expect(writer.fault).toBeUndefined();
  await writer.close();
});
