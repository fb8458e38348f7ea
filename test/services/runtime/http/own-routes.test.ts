import { expect, onTestFinished, test } from 'vitest';
import { openHttp } from '../../../../services/runtime/http/server.ts';
import { Metrics } from '../../../../services/runtime/process/metrics.ts';
import { silentLog } from '../../../support/kafka.ts';

test('/metrics has the clock of the machine', async () => {
  const server = await openHttp(
    { http_host: '127.0.0.1', http_port: 0 },
    { log: silentLog(), metrics: new Metrics('test'), routes: [] },
  );
  onTestFinished(() => server.drain());
  const before = Date.now();
  const text = await (await fetch(`${server.url}/metrics`)).text();
  const [, seconds] = /^service_clock_seconds\{service="test"\} (\S+)$/m.exec(text) ?? [];
  expect(Number(seconds) * 1_000).toBeGreaterThanOrEqual(before);
  expect(Number(seconds) * 1_000).toBeLessThanOrEqual(Date.now());
});
