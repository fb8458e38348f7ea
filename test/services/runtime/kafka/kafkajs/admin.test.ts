import kafkajs from 'kafkajs';
import { expect, test } from 'vitest';
import { errorType } from '../../../../../services/runtime/kafka/port.ts';
import { Fault } from '../../../../../services/runtime/process/errors.ts';
import { KafkajsAdmin } from '../../../../../services/runtime/kafka/kafkajs/admin.ts';

type Question = 'fetchTopicOffsets' | 'fetchTopicOffsetsByTimestamp';

/** Clients whose first `failing` questions are answered with this error of the brokers. */
function brokers(
  type: string,
  failing: number,
  topics: readonly string[] = [],
  error: Error = Object.assign(new Error('from a broker'), { type, retriable: true }),
) {
  const seen = { opened: 0, closed: 0, asked: 0 };
  const answer = () => {
    if (seen.asked++ < failing) return Promise.reject(error);
    return Promise.resolve([{ partition: 0, offset: '7', low: '0', high: '7' }]);
  };
  const answers: Record<
    Question | 'connect' | 'disconnect' | 'listTopics',
    () => Promise<unknown>
  > = {
    connect: () => Promise.resolve(),
    disconnect: () => Promise.resolve(seen.closed++),
    listTopics: () => Promise.resolve(topics),
    fetchTopicOffsets: answer,
    fetchTopicOffsetsByTimestamp: answer,
  };
  const open = (): kafkajs.Admin => {
    seen.opened++;
    return Object.assign(new kafkajs.Kafka({ brokers: ['nowhere:1'] }).admin(), answers);
  };
  return { admin: new KafkajsAdmin(open), seen };
}

const questions = {
  ends: (admin: KafkajsAdmin) => admin.ends('a'),
  'offsets at a time': (admin: KafkajsAdmin) => admin.offsetsAt('a', 0),
};

for (const [what, ask] of Object.entries(questions)) {
  for (const type of ['NOT_LEADER_FOR_PARTITION', 'LEADER_NOT_AVAILABLE'])
    test(`${what} are asked of the present leader after ${type}`, async () => {
      const { admin, seen } = brokers(type, 2);
      await ask(admin);
      expect(seen).toEqual({ opened: 3, closed: 2, asked: 3 });
      await ask(admin);
      expect(seen).toEqual({ opened: 3, closed: 2, asked: 4 });
    });

  test(`${what} that no leader answers are given up`, async () => {
    const { admin, seen } = brokers('NOT_LEADER_FOR_PARTITION', Infinity);
    await expect(ask(admin)).rejects.toThrow('from a broker');
    expect(seen).toEqual({ opened: 5, closed: 4, asked: 5 });
  });

  test(`${what} are asked once when the brokers refuse`, async () => {
    const { admin, seen } = brokers('UNSUPPORTED_VERSION', 1);
    await expect(ask(admin)).rejects.toThrow('from a broker');
    expect(seen).toEqual({ opened: 1, closed: 0, asked: 1 });
  });
}

test('a client that was disconnected while the leader changed asks no more', async () => {
  const { admin, seen } = brokers('NOT_LEADER_FOR_PARTITION', Infinity);
  const asking = admin.ends('a');
  await expect.poll(() => seen.asked).toBe(1);
  await admin.disconnect();
  await expect(asking).rejects.toThrow('from a broker');
  expect(seen).toEqual({ opened: 2, closed: 2, asked: 1 });
});

test('a question that another one has lost the client of is asked again', async () => {
  const { admin, seen } = brokers('NOT_LEADER_FOR_PARTITION', 2);
  await Promise.all([admin.ends('a'), admin.ends('b')]);
  expect(seen).toEqual({ opened: 2, closed: 1, asked: 4 });
});

test('after a broker has not answered another client asks, which may find another broker', async () => {
  const late = new kafkajs.KafkaJSRequestTimeoutError('Request Metadata timed out');
  const givenUp = new Error('Request Metadata timed out', { cause: late });
  const { admin, seen } = brokers('', 1, [], givenUp);
  await expect(admin.topicNames().then(() => admin.ends('a'))).resolves.toBeDefined();
  expect(seen).toEqual({ opened: 2, closed: 1, asked: 2 });
});

test.each([
  ['chain.blocks', 'npx ops restart chain-ingester'],
  ['shared-chain.blocks', 'npx ops restart chain-ingester'],
  ['treasury.ledger', 'docs/operations/backup.md'],
])('that %s is missing is told with its name and its remedy', async (topic, remedy) => {
  const { admin } = brokers('UNKNOWN_TOPIC_OR_PARTITION', Infinity);
  const error: unknown = await admin.ends(topic).catch((cause: unknown) => cause);
  expect(error).toMatchObject({ code: 'topic_missing', retry: true });
  expect(errorType(error)).toBe('UNKNOWN_TOPIC_OR_PARTITION');
  const { shown = '' } = error instanceof Fault ? error : {};
  expect(shown).toContain(` ${topic}. What to do:`);
  expect(shown).toContain(remedy);
});

test('a topic is asked about again, by another client, where one asked about before is missing', async () => {
  const { admin, seen } = brokers('UNKNOWN_TOPIC_OR_PARTITION', 1, ['treasury.ledger']);
  expect(await admin.ends('treasury.ledger')).toMatchObject([{ high: 7n }]);
  expect(seen).toEqual({ opened: 2, closed: 1, asked: 2 });
});
