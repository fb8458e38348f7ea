/** Ranges over brokers that fail. */
import { expect, test } from 'vitest';
import { readLogBatches, type LogRange } from '../../../../services/runtime/kafka/range.ts';
import { insisting, numbered, ownTopic, range } from '../../../support/kafka.ts';
import { MemoryKafka } from '../../../support/memory-kafka.ts';

const TOPIC = ownTopic();
const { name: topic } = TOPIC;

/** Ten batches of ten records; each request that `fails` is answered with an error. */
function logThat(fails: (request: number) => boolean): MemoryKafka {
  let requests = 0;
  let isOpen = false;
  const onRequest = (): void => {
    if (isOpen && fails(++requests)) throw new Error('the connection was reset');
  };
  const kafka = new MemoryKafka([TOPIC], { onRequest });
  for (let from = 0; from < 100; from += 10) kafka.append(topic, 0, numbered(from, 10));
  isOpen = true;
  return kafka;
}

async function numbersIn(kafka: MemoryKafka, change: Partial<LogRange> = {}): Promise<number[]> {
  const numbers: number[] = [];
  const whole = { topic, partition: 0, from: 5n, to: 95n };
  await readLogBatches(kafka, { ...whole, ...change }, (records) => {
    numbers.push(...records.map(({ value }) => Number(value)));
  });
  return numbers;
}

test('a range is read through failing brokers where requests are tried again', async () => {
  const failed: string[] = [];
  const kafka = logThat((request) => request % 2 === 1);
  const numbers = await numbersIn(kafka, {
    retrying: (what, attempt) =>
      insisting(what, () =>
        attempt().catch((error: unknown) => {
          failed.push(what);
          throw error;
        }),
      ),
  });
  expect(numbers).toEqual(range(5, 95));
  expect(failed).toEqual(['looking at the ends of the log', `reading ${topic}/0`]);
});

test.each(['the ends', 'the records'])(
  'without another try, an error at %s of the log is a fault with retry',
  async (asked) => {
    const kafka = logThat((request) => request === (asked === 'the ends' ? 1 : 2));
    await expect(numbersIn(kafka)).rejects.toMatchObject({ code: 'kafka', retry: true });
    expect(await numbersIn(kafka)).toEqual(range(5, 95));
  },
);

test('a range of a partition that does not exist is a fault with retry', async () => {
  await expect(
    numbersIn(
      logThat(() => false),
      { partition: 7 },
    ),
  ).rejects.toMatchObject({
    code: 'kafka',
    retry: true,
  });
});
