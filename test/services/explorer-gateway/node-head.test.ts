import { createServer, type RequestListener, type Server } from 'node:http';
import { once } from 'node:events';
import { afterEach, expect, test } from 'vitest';
import { nodeHead } from '../../../services/runtime/clt-node.ts';
import { openLog } from '../../../services/runtime/process/log.ts';
import { takePort } from '../../support/free-ports.ts';

const lines: { readonly level?: unknown; readonly msg?: unknown }[] = [];
const log = openLog({
  service: 'test',
  level: 'info',
  destination: { write: (line) => void lines.push(JSON.parse(line)) },
});

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
  lines.length = 0;
});

async function node(answer: RequestListener): Promise<string> {
  const taken = await takePort();
  const server: Server = createServer(answer).listen(taken.port, '127.0.0.1');
  await once(server, 'listening');
  closing.push(() => {
    server.close();
    server.closeAllConnections();
    taken.release();
  });
  return `http://127.0.0.1:${taken.port}`;
}

test("the node's newest heights are read at most once a second", async () => {
  let [height, asked, now] = [10, 0, 5_000];
  const url = await node((request, response) => {
    asked++;
    expect(request.url).toBe('/v1/chain');
    response.end(
      JSON.stringify({
        chain_id: '7777',
        head: { height: height++, hash: '0x00' },
        finalized_height: 3,
      }),
    );
  });
  const head = nodeHead(url, () => now, log);
  const first = { height: 10, finalized_height: 3 };
  expect(await Promise.all([head(), head(), head()])).toEqual([first, first, first]);
  now += 999;
  expect(await head()).toEqual(first);
  now += 1;
  expect(await head()).toEqual({ height: 11, finalized_height: 3 });
  expect(asked).toBe(2);
});

test('the head is unknown while the node is away, silent, redirects or answers badly, which is logged once', async () => {
  const elsewhere = await node((_request, response) => response.end('{"head":{"height":1}}'));
  const answers: RequestListener[] = [
    (request) => void request.socket.destroy(),
    () => undefined,
    (_request, response) =>
      void response.writeHead(302, { location: `${elsewhere}/v1/chain` }).end(),
    (_request, response) => void response.writeHead(503).end('{"code":"x","message":"y"}'),
    (_request, response) => void response.end('<html>'),
    (_request, response) => void response.end('null'),
    (_request, response) => void response.end('{"head":null}'),
    (_request, response) => void response.end('{"head":{"height":"12"}}'),
    (_request, response) => void response.end('{"head":{"height":1.5}}'),
    (_request, response) => void response.end('{"head":{"height":-1}}'),
  ];
  let [now, at] = [0, 0];
  const url = await node((request, response) => answers[at]?.(request, response));
  const head = nodeHead(url, () => now, log);
  for (at = 0; at < answers.length; at++) {
    now += 1_000;
    expect(await head(), `answer ${at}`).toBeUndefined();
  }
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatchObject({ level: 'warn' });
  for (const final of ['', ',"finalized_height":-1', ',"finalized_height":"7"']) {
    answers[at] = (_request, response) => void response.end(`{"head":{"height":12}${final}}`);
    now += 1_000;
    expect(await head()).toEqual({ height: 12, finalized_height: null });
  }
  expect(lines.map(({ msg }) => msg)).toEqual([
    expect.stringContaining('the lag is unknown'),
    'the head of the node can be read again',
  ]);
});
