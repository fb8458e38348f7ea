/** Commands against a server that accepts connections and says nothing. */
import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { opsHere } from './operator.ts';

async function silentPort(): Promise<number> {
  const server = createServer(() => undefined).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

test.each([
  'quarantine list',
  'deposit list',
  'policy show',
  'registry check',
  'audit',
  'tail treasury.ledger --last 1 --no-follow',
  'export treasury.ledger --format ndjson',
])('ops %s --timeout ends with exit code 2', async (words) => {
  const at = `127.0.0.1:${await silentPort()}`;
  const ended = await opsHere(`${words} --timeout 1 --json`, {
    APP_KAFKA_BROKERS: at,
    APP_REGISTRY_URL: `http://${at}`,
    APP_POSTGRES_READER_URL: `postgres://clt_reader:x@${at}/clt`,
    APP_NODE_URL: `http://${at}`,
    APP_USDT_CONTRACT: 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t',
  });
  expect(ended).toMatchObject({ code: 2, stdout: '' });
  expect(JSON.parse(ended.stderr)).toMatchObject({ error: 'timeout', retry: true });
});

test('a time that is no number of seconds is refused', async () => {
  expect(await opsHere('quarantine list --timeout soon')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('--timeout is a whole number'),
  });
});
