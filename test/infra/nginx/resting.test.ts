import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { checkout } from '../../../infra/local/stack/folder.ts';
import { openHttp } from '../../../services/runtime/http/server.ts';
import { Metrics } from '../../../services/runtime/process/metrics.ts';
import { silentLog } from '../../support/kafka.ts';

test('nginx ends connections that rest before a gateway does', async () => {
  const server = await openHttp(
    { http_host: '127.0.0.1', http_port: 0 },
    { log: silentLog(), metrics: new Metrics('test') },
  );
  const { headers } = await fetch(`${server.url}/health`);
  await server.drain();
  const gateway = Number(/timeout=(\d+)/.exec(headers.get('keep-alive') ?? '')?.[1]);
  const conf = readFileSync(join(checkout, 'infra/nginx/gateways.conf'), 'utf8');
  const upstreams = [...conf.matchAll(/^upstream \w+ \{[^}]*\}/gm)].map(([text]) => text);
  expect(upstreams.length).toBe(2);
  for (const text of upstreams)
    expect(Number(/keepalive_timeout (\d+)s;/.exec(text)?.[1])).toBeLessThan(gateway);
});
