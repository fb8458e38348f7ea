import { expect, test } from 'vitest';
import { recordStream } from '../../../../services/ops/console/record-stream.ts';
import { Fault } from '../../../../services/runtime/process/errors.ts';
import type { TopicOutput } from '../../../../services/ops/tail/read-topic.ts';

const LINES = 2_000;
const LINE = `${'x'.repeat(1_000)}\n`;

test('a page that does not read holds the tail up, and little is kept', async () => {
  let [written, ahead, read] = [0, 0, 0];
  const run = async ({ write }: TopicOutput): Promise<void> => {
    for (; written < LINES; written++) {
      await write(LINE);
      ahead = Math.max(ahead, written - read);
    }
  };
  for await (const piece of recordStream(run, new AbortController().signal))
    read += piece.length / LINE.length;
  expect(read).toBe(LINES);
  expect(ahead).toBeLessThan(LINES / 4);
});

test.each(['before', 'after'] as const)(
  'a page that leaves %s it reads ends the tail',
  async (when) => {
    const ended = Promise.withResolvers<void>();
    const run = ({ signal }: TopicOutput): Promise<void> => {
      signal.addEventListener('abort', () => ended.resolve());
      return ended.promise;
    };
    const stream = recordStream(run, new AbortController().signal, 1);
    const reader = stream[Symbol.asyncIterator]();
    if (when === 'after') expect(await reader.next()).toEqual({ done: false, value: '\n' });
    await reader.return?.();
    await ended.promise;
  },
);

/** A tail that waits, goes on and ends with an error. */
function failing({ onFault }: TopicOutput): Promise<void> {
  onFault(new Fault('kafka_unreachable', 'the brokers did not answer', { retry: true }), 'one');
  // another partition, which says nothing about the first
  onFault(undefined, 'two');
  onFault(undefined, 'one');
  return Promise.reject(new Error('the log was deleted'));
}

test('a server that is away, and its return, are lines of the stream', async () => {
  let text = '';
  for await (const piece of recordStream(failing, new AbortController().signal)) text += piece;
  expect(text.trim().split('\n')).toEqual([
    '{"waiting":"the brokers did not answer"}',
    '{"waiting":null}',
    '{"waiting":"the log was deleted"}',
  ]);
});

test('a record that is too long for a page keeps its first items', async () => {
  const transactions = Array.from({ length: 5_000 }, (_, at) => ({ hash: `0x${at}`, nonce: at }));
  const line = JSON.stringify({ type: 'BlockAppended', value: { height: 7, transactions } });
  const run = async ({ write }: TopicOutput): Promise<void> => {
    await write(`${line}\n{"type":"BlockReverted"}\n`);
  };
  let text = '';
  for await (const piece of recordStream(run, new AbortController().signal)) text += piece;
  const [first = '', second] = text.split('\n');
  expect(first.length).toBeLessThan(2_000);
  expect(JSON.parse(first)).toMatchObject({
    type: 'BlockAppended',
    value: { height: 7, transactions: { 0: { hash: '0x0' }, length: 21 } },
  });
  expect(second).toBe('{"type":"BlockReverted"}');
});
