import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { localServices } from '../../../../services/ops/config.ts';
import { readServices, serviceLines } from '../../../../services/ops/status/service-health.ts';
import { Metrics } from '../../../../services/runtime/process/metrics.ts';

/** A service that answers `/ready` so, and `/metrics` with these figures. */
async function service(status: number, body: string, metrics: Metrics): Promise<string> {
  const server = createServer((request, response) => {
    if (request.url === '/ready') {
      response.writeHead(status).end(body);
      return;
    }
    void metrics.text().then((text) => response.end(text));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
}

test('of each service it is told whether it is ready, why not, and its main figures; one that is away is told too', async () => {
  const treasury = new Metrics('treasury');
  const queue = treasury.gauge('treasury_queue_deposits', 'deposits', ['status']);
  queue.set({ status: 'confirmed' }, 3);
  queue.set({ status: 'needs_manual' }, 1);
  const lag = treasury.gauge('treasury_lag_records', 'lag', ['topic', 'partition']);
  lag.set({ topic: 'tron.transfers', partition: 0 }, 2);
  lag.set({ topic: 'tron.transfers', partition: 1 }, 5);
  const services = await readServices([
    {
      name: 'treasury',
      url: await service(503, '{"code":"not_ready","message":"treasury: \\"why\\""}', treasury),
    },
    { name: 'hub-gateway', url: await service(200, '{"status":"ready"}', new Metrics('hub')) },
    { name: 'gone', url: 'http://127.0.0.1:1' },
  ]);
  expect(services).toMatchObject([
    {
      ready: false,
      matter: 'treasury: "why"',
      figures: { 'deposits confirmed': 3, 'deposits needs_manual': 1, 'records behind': 7 },
    },
    { ready: true, matter: null, figures: {} },
    { ready: false, matter: expect.stringMatching(/^does not answer: /), figures: {} },
  ]);
  expect(serviceLines(services).slice(0, 2)).toEqual([
    'service     treasury               NOT READY: treasury: "why", deposits confirmed 3, deposits needs_manual 1, records behind 7',
    'service     hub-gateway            ready',
  ]);
});

test('the services of a stack are those of its file that speak HTTP', () => {
  const folder = mkdtempSync(join(tmpdir(), 'clt-ops-services-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'stack.json');
  const pids = { kafka: 1, 'chain-ingester': 2, 'hub-gateway': 3, 'projector-ride-market': 4 };
  writeFileSync(
    file,
    JSON.stringify({
      pids,
      ports: { kafka: 19_092, chain_ingester: 17_011, hub: 17_002, projector_ride_market: 17_024 },
    }),
  );
  expect(localServices(file)).toEqual([
    { name: 'chain-ingester', url: 'http://127.0.0.1:17011' },
    { name: 'hub-gateway', url: 'http://127.0.0.1:17002' },
    { name: 'projector-ride-market', url: 'http://127.0.0.1:17024' },
  ]);
  expect(localServices(join(folder, 'none.json'))).toBeUndefined();
});
