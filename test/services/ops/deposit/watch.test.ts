/** `ops deposit watch` over watchers that answer, and ones that do not. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { expect, onTestFinished, test, vi } from 'vitest';
import { retriesText, watchDeposits } from '../../../../services/ops/deposit/watch.ts';

const OLD = {
  kind: 'transfer',
  address: 'TJCnKsPa7y5okkXvQAidZBzqx3QyQ6sxMW',
  tron_tx_id: 'ab'.repeat(32),
  since: '2026-11-26T05:00:00.000Z',
  why: 'the provider has no receipt of it',
  failures: 4,
  next_attempt: '2026-11-26T05:10:00.000Z',
};
const NEW = { ...OLD, kind: 'address', tron_tx_id: null, since: '2026-11-26T05:01:00.000Z' };

async function watcherWith(status: number, body: object): Promise<string> {
  const server = createServer((request, response) => {
    response.writeHead(request.url === '/retries' ? status : 404).end(JSON.stringify(body));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
}

function printed(): () => string {
  const write = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  onTestFinished(() => write.mockRestore());
  return () => write.mock.calls.map(([text]) => String(text)).join('');
}

test('the retries of all watchers are listed, the longest first', async () => {
  const watcher = [
    await watcherWith(200, { retries: [NEW] }),
    await watcherWith(200, { retries: [OLD] }),
  ];
  const text = printed();
  expect(await watchDeposits({ watcher, json: true, stack: 'none' })).toBe(0);
  expect(JSON.parse(text())).toEqual([OLD, NEW]);
});

test('a watcher that does not answer, or a stack file without one, is a problem', async () => {
  const watcher = [await watcherWith(503, {})];
  await expect(watchDeposits({ watcher, json: true, stack: 'none' })).rejects.toMatchObject({
    code: 'watcher_unreachable',
  });
  await expect(
    watchDeposits({ watcher: [], json: true, stack: '/nowhere/stack.json' }),
  ).rejects.toMatchObject({ code: 'misuse' });
});

test("the table names address, transaction and reason, and the provider's text moves no cursor", () => {
  const text = retriesText([{ ...OLD, why: 'said \u001b[2J\nand \u202e more' }]);
  expect(text).toContain(OLD.address);
  expect(text).toContain(OLD.tron_tx_id);
  expect(text.split('\n')).toHaveLength(2);
  expect(text).not.toContain('\u001b[2J');
  expect(text).not.toContain('\u202e');
  expect(retriesText([])).not.toContain('\n');
});
