import { expect, test } from 'vitest';
import { Parts } from '../../../../services/ops/status/parts.ts';
import { kafkaFault } from '../../../../services/runtime/kafka/port.ts';
import { Fault } from '../../../../services/runtime/process/errors.ts';
import { HANG_MS } from '../../../support/limits.ts';

test('questions that one server leaves unanswered make one line, whatever each error says', async () => {
  const parts = new Parts(HANG_MS);
  const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
  for (const cause of [refused, new Error('no broker answered'), refused])
    parts.ask('Kafka', () => Promise.reject(kafkaFault('the brokers did not answer', cause)));
  for (const code of ['storage_unreachable', 'storage_timeout'])
    parts.ask('Postgres', () => Promise.reject(new Fault(code, `${code}: x`, { retry: true })));
  await parts.answered();
  expect(parts.unanswered.map(({ text }) => text)).toEqual([
    'the brokers did not answer: connect ECONNREFUSED',
    'storage_unreachable: x',
  ]);
});

test('a server that answers and refuses has a line for each refusal', async () => {
  const parts = new Parts(HANG_MS);
  for (const text of ['no table a', 'no table b', 'no table a'])
    parts.ask('Postgres', () =>
      Promise.reject(new Fault('storage_missing', text, { retry: false })),
    );
  await parts.answered();
  expect(parts.unanswered.map(({ text }) => text)).toEqual(['no table a', 'no table b']);
});

test('lines are in the order of the questions, whichever fails first', async () => {
  const parts = new Parts(HANG_MS);
  const slow = Promise.withResolvers<never>();
  parts.ask('the supervisor', () => slow.promise);
  const node = parts.ask('the CLT node', () =>
    Promise.reject(new Fault('chain_node', 'away', { retry: true })),
  );
  await node.end;
  slow.reject(new Fault('no_supervisor', 'ended', { retry: false }));
  await parts.answered();
  expect(parts.unanswered.map(({ text }) => text)).toEqual(['ended', 'away']);
});

test('a late server makes one line', async () => {
  const parts = new Parts(1);
  for (const server of ['Kafka', 'Kafka', 'Postgres'])
    parts.ask(server, () => new Promise(() => undefined));
  await parts.answered();
  expect(parts.unanswered.map(({ of }) => of)).toEqual(['Kafka', 'Postgres']);
});
