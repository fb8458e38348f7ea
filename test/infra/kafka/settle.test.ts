import kafkajs from 'kafkajs';
import { expect, test } from 'vitest';
import { isPassing } from '../../../infra/kafka/settle.ts';

function answer(type: string, retriable = false): Error {
  const error = new kafkajs.KafkaJSProtocolError(new Error(type));
  return Object.assign(error, { type, retriable });
}

function ofTopics(...types: string[]): Error {
  const errors = types.map((type) => answer(type));
  return Object.assign(new kafkajs.KafkaJSAggregateError('topics', types), { errors });
}

test('it waits for a broker that is missing for a moment, and for no right that it lacks', () => {
  const missing = 'INVALID_REPLICATION_FACTOR';
  const lacking = 'CLUSTER_AUTHORIZATION_FAILED';
  expect(isPassing(ofTopics(missing, missing))).toBe(true);
  expect(isPassing(ofTopics(missing, lacking))).toBe(false);
  expect(isPassing(answer('NOT_CONTROLLER', true))).toBe(true);
  expect(isPassing(answer(lacking))).toBe(false);
  expect(isPassing(new Error('another'))).toBe(false);
});
