import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import { Client } from 'pg';
import { expect, inject, onTestFinished, test } from 'vitest';
import { connectionTo } from '../../../../../services/runtime/postgres/host-client.ts';
import { Hosts } from '../../../../../services/runtime/postgres/hosts.ts';
import { openReader, openWriter } from '../../../../../services/runtime/postgres/pool.ts';
import { silentLog } from '../../../../support/kafka.ts';
import { HANG_MS } from '../../../../support/limits.ts';

const stack = inject('stack');
const { host: alive, pathname } = new URL(stack.postgres_url);
const AWAY = '127.0.0.1:1';
/** of a host that is frozen each connection waits for half of it */
const CONNECT_MS = 2_000;

/** A server that does `answer` to each connection, and changes what Postgres says. */
async function server(
  answer: (data: Buffer) => Buffer | undefined,
  said = (data: Buffer) => data,
): Promise<string> {
  const listening = createServer((socket) => {
    const [host, port] = alive.split(':');
    const upstream = connect(Number(port), host);
    socket.once('data', (data: Buffer) => {
      const passed = answer(data);
      if (passed === undefined) return;
      upstream.write(passed);
      socket.pipe(upstream);
      upstream.on('data', (reply: Buffer) => socket.write(said(reply)));
    });
    for (const each of [socket, upstream]) each.on('error', () => undefined);
    socket.on('close', () => upstream.destroy());
  }).listen(0, '127.0.0.1');
  await once(listening, 'listening');
  onTestFinished(() => void listening.close());
  const { port }: AddressInfo = JSON.parse(JSON.stringify(listening.address()));
  return `127.0.0.1:${port}`;
}

function urlOf(hosts: string, query = ''): string {
  return stack.postgres_url.replace(alive, hosts) + query;
}

test('a connection goes to the host that answers, whatever the others do', async () => {
  const frozen = await server(() => undefined);
  for (const use of ['read-write', 'any'] as const) {
    const { host, port } = await connectionTo(urlOf(`${AWAY},${frozen},${alive}`), use, CONNECT_MS);
    expect(`${host}:${port}`).toBe(alive);
  }
});

test('the first host that answers is preferred where each would do', async () => {
  const relay = await server((data) => data);
  const { port } = await connectionTo(urlOf(`${relay},${alive}`), 'any', CONNECT_MS);
  expect(`127.0.0.1:${port}`).toBe(relay);
});

/** Postgres as another server that was promoted so often. */
function promoted(times: number): Promise<string> {
  const said = (data: Buffer): Buffer =>
    Buffer.from(
      data
        .toString('latin1')
        .replace(/0000000\d/, `0000000${times + 1}`)
        // the time of its start
        .replace(/1\d{9}(?=\.\d{6})/, '1000000000'),
      'latin1',
    );
  return server((data) => data, said);
}

test('a former primary that came back is not written to', async () => {
  const [former, newest] = [await promoted(1), await promoted(2)];
  for (const hosts of [`${newest},${former},${alive}`, `${alive},${former},${newest}`]) {
    const { host, port } = await connectionTo(urlOf(hosts), 'read-write', CONNECT_MS);
    expect(`${host}:${port}`).toBe(newest);
  }
});

test('two primaries of which none was promoted last are refused in words', async () => {
  const other = await promoted(0);
  await expect(
    connectionTo(urlOf(`${alive},${other}`), 'read-write', CONNECT_MS),
  ).rejects.toMatchObject({
    code: 'storage_unreachable',
    retry: true,
    message: expect.stringMatching(/127.0.0.1:\d+ and 127.0.0.1:\d+ may both be written to/),
  });
});

test('two names of one primary are one', async () => {
  const relay = await server((data) => data);
  const { host } = await connectionTo(urlOf(`${relay},${alive}`), 'read-write', CONNECT_MS);
  expect(host).toBe('127.0.0.1');
});

test('without any host the fault names each with its reason, and a refused account stays one', async () => {
  await expect(connectionTo(urlOf(`${AWAY},127.0.0.1:2`), 'any', CONNECT_MS)).rejects.toMatchObject(
    {
      code: 'storage_unreachable',
      retry: true,
      message: expect.stringMatching(/no Postgres may be read: 127.0.0.1:1 \(.*127.0.0.1:2/),
    },
  );
  const stranger = urlOf(`${AWAY},${alive}`).replace(/:[^:@]*@/, ':wrong@');
  await expect(connectionTo(stranger, 'any', CONNECT_MS)).rejects.toMatchObject({ code: '28P01' });
});

test('a host that answered is chosen also where the last connection ends before the others answer', async () => {
  const frozen = await server(() => undefined);
  const hosts = new Hosts(urlOf(`${frozen},${alive}`));
  const need = { use: 'any', connect_ms: CONNECT_MS, stale_ms: HANG_MS } as const;
  const last = { need, timeline: undefined, host: alive, end: () => undefined };
  hosts.opened(last);
  const chosen = hosts.choose(need);
  await expect
    .poll(() => hosts.states)
    .toContainEqual(expect.objectContaining({ name: alive, is_up: true }));
  hosts.closed(last);
  const { host, port } = await chosen;
  expect(`${host}:${port}`).toBe(alive);
});

test('a pool connects to the host that answers', async () => {
  const settings = { application_name: 'test', schema: 'public' };
  const pool = openWriter({ ...settings, postgres_url: urlOf(`${AWAY},${alive}`) }, silentLog());
  onTestFinished(() => pool.end());
  expect((await pool.query('SHOW search_path')).rows).toEqual([{ search_path: 'public' }]);
});

/** As a pooler that ignores the parameter `options`. */
function withoutOptions(data: Buffer): Buffer {
  const words = data.subarray(8).toString('latin1').split('\0');
  const at = words.indexOf('options');
  words.splice(at, 2);
  const kept = Buffer.from(words.join('\0'), 'latin1');
  const message = Buffer.concat([data.subarray(0, 8), kept]);
  message.writeInt32BE(message.length, 0);
  return message;
}

test('a pooler that drops the settings of sessions is refused in words', async () => {
  const pooler = await server(withoutOptions);
  const plain = new Client({ connectionString: urlOf(pooler), options: '-c jit=off' });
  await plain.connect();
  await plain.end();
  const reader = openReader(
    {
      postgres_reader_url: `postgres://clt_reader:clt_reader@${pooler}${pathname}`,
      statement_timeout_ms: HANG_MS,
      connections_max: 1,
    },
    'test',
    silentLog(),
  );
  onTestFinished(() => reader.close());
  await expect(reader.rows({ name: '', text: 'SELECT 1', values: [] })).rejects.toMatchObject({
    code: 'storage_pooler',
    message: expect.stringMatching(/pooler in session mode/),
  });
});
