import kafkajs from 'kafkajs';
import { expect, test } from 'vitest';
import { KafkajsFetcher } from '../../../../../services/runtime/kafka/kafkajs/fetcher.ts';

const POSITION = {
  topic: 'a',
  topic_id: '0'.repeat(32),
  partition: 0,
  offset: 0n,
  bytes_max: 1,
  wait_ms: 1,
};

/** The answer to a fetch of one partition, without records. */
function answer(error: number, preferred: number): Buffer {
  const payload = Buffer.alloc(80);
  payload.writeInt16BE(error, 1 + 4);
  const partition = 1 + 4 + 2 + 4 + 1 + 16 + 1;
  const preferredAt = partition + 4 + 2 + 24 + 1;
  payload.writeInt32BE(preferred, preferredAt);
  payload.writeUInt8(1, preferredAt + 4);
  return payload;
}

interface Exchange {
  readonly request: { encode(): Promise<{ readonly buf: Buffer }> };
  readonly response: { decode(payload: Buffer): Promise<unknown> };
}

const nothing = (): Promise<void> => Promise.resolve();

/** Broker 1 leads, and names broker 2 to who asks from a rack. `failing`: broker 2 answers so. */
function threeBrokers(failing: () => number) {
  const asked: string[] = [];
  const brokerOf = (id: string) => ({
    connectionPool: {
      async send({ request, response }: Exchange) {
        const { buf } = await request.encode();
        const isFromRack = buf.includes('west');
        asked.push(`${id}${isFromRack ? ' west' : ''}`);
        if (id === '2') return await response.decode(answer(failing(), -1));
        return await response.decode(answer(0, isFromRack ? 2 : -1));
      },
    },
  });
  const cluster = {
    connect: nothing,
    disconnect: nothing,
    addTargetTopic: nothing,
    findLeaderForPartitions: () => ({ 1: [0] }),
    findBroker: ({ nodeId }: { nodeId: string }) => Promise.resolve(brokerOf(nodeId)),
    brokerPool: { brokers: {}, seedBroker: undefined },
  };
  const kafka = new kafkajs.Kafka({ brokers: ['nowhere:1'] });
  const symbol = Object.getOwnPropertySymbols(kafka).find(
    ({ description }) => description === 'private:Kafka:createCluster',
  );
  Object.defineProperty(kafka, symbol ?? '', { value: () => cluster });
  return { kafka, asked, cluster };
}

test('without a rack the leader is read', async () => {
  const { kafka, asked } = threeBrokers(() => 0);
  const fetcher = new KafkajsFetcher(kafka);
  await fetcher.fetch(POSITION);
  expect(asked).toEqual(['1']);
});

test('the replica that the leader names is read, without asking the leader each time', async () => {
  const { kafka, asked } = threeBrokers(() => 0);
  const fetcher = new KafkajsFetcher(kafka, 'west');
  await fetcher.fetch(POSITION);
  await fetcher.fetch(POSITION);
  expect(asked).toEqual(['1 west', '2', '2']);
});

test('a replica that lacks the offset does not end the log: the leader is read', async () => {
  const { kafka, asked } = threeBrokers(() => 1);
  const fetcher = new KafkajsFetcher(kafka, 'west');
  await fetcher.fetch(POSITION);
  await fetcher.fetch(POSITION);
  expect(asked).toEqual(['1 west', '2', '1', '1']);
});

test('a step that kafkajs never ends is given up, and the next attempt begins anew', async () => {
  const { kafka, asked, cluster } = threeBrokers(() => 0);
  const stuck = new Promise<void>(() => undefined);
  let looks = 0;
  cluster.addTargetTopic = () => (looks++ === 0 ? stuck : nothing());
  const fetcher = new KafkajsFetcher(kafka, '', 1);
  await fetcher.fetch(POSITION);
  expect(looks).toBe(2);
  expect(asked).toEqual(['1']);
});
