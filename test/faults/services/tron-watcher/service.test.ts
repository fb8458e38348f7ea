/**
 * Watchers as processes: run twice, frozen, without a provider. `test/faults/deposits.test.ts`
 * kills them.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { text as textOf } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, onTestFinished, test, inject } from 'vitest';
import { startStack, type ServiceHandle, type Stack } from '../../../support/stack.ts';
import { openTronWorld, type TronWorld } from '../../../support/tron-world.ts';

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({ others: inject('stack') });
});
afterAll(() => stack?.stop());

const KEY = 'a-key-that-nobody-may-read-7f3a';

async function watcher(
  world: TronWorld,
  extra: Readonly<Record<string, string>> = {},
): Promise<ServiceHandle> {
  const service = await stack.spawnService('tron-watcher', {
    APP_KAFKA_PREFIX: world.kafka.prefix,
    APP_TRON_URL: world.devnet.tron_url,
    APP_POSTGRES_READER_URL: world.postgres_reader_url,
    APP_PASS_EVERY_MS: '100',
    APP_COLD_EVERY_MS: '0',
    APP_TRON_BACKOFF_MS_MIN: '10',
    APP_TRON_BACKOFF_MS_MAX: '200',
    ...extra,
  });
  onTestFinished(() => service.kill());
  return service;
}

async function metric(service: ServiceHandle, name: string): Promise<number> {
  const text = await (await fetch(`${service.url}/metrics`)).text();
  const lines = text
    .split('\n')
    .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
  return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
}

test('two watchers share the partitions and the requests, and one takes over when the other is killed or hangs', async () => {
  const world = await openTronWorld(stack.addresses);
  await world.request(30);
  const one = await watcher(world, { APP_TRON_REQUESTS_PER_SECOND: '30' });
  const other = await watcher(world, { APP_TRON_REQUESTS_PER_SECOND: '30' });
  const parts = (): Promise<readonly number[]> =>
    Promise.all([one, other].map((each) => metric(each, 'tron_partitions_assigned')));
  await expect.poll(parts).toEqual([3, 3]);
  await world.devnet.admin('/admin/tron/requests', undefined, 'DELETE');
  const checked = await metric(other, 'tron_addresses_checked_total');
  await expect
    .poll(() => metric(other, 'tron_addresses_checked_total'))
    .toBeGreaterThan(checked + 30);
  await one.kill('SIGSTOP');
  await expect.poll(() => metric(other, 'tron_partitions_assigned')).toBe(6);
  await one.kill('SIGCONT');
  await expect.poll(parts).toEqual([3, 3]);
  const { body }: { body: { total: number; max_in_1s: number } } = Object(
    await world.devnet.admin('/admin/tron/requests', undefined, 'GET'),
  );
  expect(body.total).toBeGreaterThan(30);
  // each by itself would make 30; on a busy machine requests are held up and arrive together
  expect(body.max_in_1s).toBeLessThan(45);
  await one.kill();
  await expect.poll(() => metric(other, 'tron_partitions_assigned')).toBe(6);
  await other.kill('SIGTERM');
  expect(await other.waitExit()).toMatchObject({ code: 0 });
});

test('a provider that is away shows in /status with a remedy and in metrics, and the API key is never shown', async () => {
  const world = await openTronWorld(stack.addresses);
  await world.request(3);
  const service = await watcher(world, { APP_READY_SILENCE_MS: '500', APP_TRON_API_KEY: KEY });
  await service.ready();
  await expect.poll(() => metric(service, 'tron_pass_seconds_count')).toBeGreaterThan(0);
  await world.tron.fault('status_429');
  const status = async (): Promise<unknown> => (await fetch(`${service.url}/status`)).json();
  await expect.poll(status).toMatchObject({
    status: 'waiting',
    waits_for: 'trongrid',
    message: expect.stringContaining('APP_TRON_REQUESTS_PER_SECOND'),
  });
  expect((await fetch(`${service.url}/ready`)).status).toBe(503);
  expect(await (await fetch(`${service.url}/health`)).text()).toContain('ok');
  const text = await (await fetch(`${service.url}/metrics`)).text();
  expect(text).toMatch(
    /tron_requests_total\{route="getnowblock",outcome="throttled",service="tron-watcher"\} [1-9]/,
  );
  expect(text).toMatch(/tron_cold_check_age_seconds\{service="tron-watcher"\} [0-9.]+/);
  await world.devnet.admin('/admin/faults', undefined, 'DELETE');
  await expect.poll(status).toMatchObject({ status: 'ready', phase: 'watching' });
  await service.kill('SIGTERM');
  expect(await service.waitExit()).toMatchObject({ code: 0 });
  expect(service.log()).not.toContain(KEY);
});

/** A provider between the watcher and the devnet, whose head can be ahead. */
async function providerAhead(of: string): Promise<{ url: string; ahead_ms: number }> {
  const provider = { url: '', ahead_ms: 0 };
  const forward = async ({ method = 'GET', url = '' }: IncomingMessage, body: string) => {
    const init = method === 'GET' ? { method } : { method, body };
    const answer = await fetch(`${of}${url}`, init);
    const text = await answer.text();
    const dated = text.replace(
      /"timestamp":(\d+)/,
      (_, time: string) => `"timestamp":${Number(time) + provider.ahead_ms}`,
    );
    return { code: answer.status, text: url.includes('getnowblock') ? dated : text };
  };
  const server = createServer((request, response) => {
    void (async () => {
      const { code, text } = await forward(request, await textOf(request));
      response.writeHead(code, { 'content-type': 'application/json' }).end(text);
    })();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void server.close());
  const address = server.address();
  provider.url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
  return provider;
}

test('a watcher whose clock is far behind the head is not ready, although its provider answers', async () => {
  const world = await openTronWorld(stack.addresses);
  await world.request(3);
  const provider = await providerAhead(world.devnet.tron_url);
  const service = await watcher(world, {
    APP_READY_SILENCE_MS: '500',
    APP_TRON_URL: provider.url,
  });
  await service.ready();
  const status = async (): Promise<unknown> => (await fetch(`${service.url}/status`)).json();
  await expect.poll(() => metric(service, 'tron_pass_seconds_count')).toBeGreaterThan(0);
  provider.ahead_ms = 2 * 3_600_000;
  await expect.poll(status).toMatchObject({
    status: 'waiting',
    waits_for: null,
    message: expect.stringContaining("clock_behind: TRON's solidified head is"),
  });
  expect((await fetch(`${service.url}/ready`)).status).toBe(503);
  provider.ahead_ms = 0;
  await expect.poll(status).toMatchObject({ status: 'ready', phase: 'watching' });
});
