import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, expect, inject, test } from 'vitest';
import { freshDatabase } from '../../../support/database.ts';
import { withDevnet } from '../../../support/devnet.ts';
import { PATIENT_READS } from '../../../support/stack.ts';
import { SECRET } from '../../../support/tokens.ts';
import { RawSocket } from '../../../services/hub-gateway/raw-socket.ts';
import { ReadModels } from '../../../services/hub-gateway/read-models.ts';
import { prints } from '../../../support/command-line.ts';

const MAIN = new URL('../../../../services/hub-gateway/main.ts', import.meta.url).pathname;

const running = new Set<ChildProcess>();
afterEach(() => {
  for (const child of running) child.kill('SIGKILL');
  running.clear();
});

const { NODE_COMPILE_CACHE } = process.env;

function start(env: Readonly<Record<string, string>>): {
  readonly child: ChildProcess;
  readonly text: () => string;
  readonly ended: Promise<unknown>;
} {
  const child = spawn(process.execPath, [MAIN], {
    env: { NODE_COMPILE_CACHE, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.add(child);
  let text = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (part: string) => (text += part));
  return { child, text: () => text, ended: once(child, 'close') };
}

async function settings(nodeUrl: string): Promise<Record<string, string>> {
  const { redis_url: redisUrl } = inject('stack');
  const { writer_url: writerUrl, reader_url: readerUrl } = await freshDatabase(inject('stack'));
  const models = await ReadModels.open(writerUrl, redisUrl);
  await models.close();
  return {
    APP_HTTP_PORT: '0',
    APP_OPS_PORT: '0',
    APP_NETWORK: 'testnet',
    APP_CHAIN_ID: '7777',
    APP_POSTGRES_READER_URL: readerUrl,
    APP_REDIS_URL: redisUrl,
    APP_NODE_URL: nodeUrl,
    APP_JWT_SECRET: SECRET,
    ...PATIENT_READS,
  };
}

test('the hub is ready once the node answers, closes its sockets at SIGTERM, exits with 0 and logs no secret', async () => {
  await withDevnet(async (devnet) => {
    const { child, text, ended } = start(await settings(devnet.node_url));
    await prints(child, text, '"msg":"listening"');
    const url = /"url":"([^"]+)"/.exec(text())?.[1] ?? '';
    await expect.poll(async () => (await fetch(`${url}/ready`)).status).toBe(200);
    const socket = await RawSocket.begun(`${url.replace('http', 'ws')}/graphql/ws`);
    socket.subscribe('1', 'subscription { activeTripsUpdated { txHash } }');
    await socket.next(({ type }) => type === 'next');
    child.kill('SIGTERM');
    expect(await socket.closed).toBe(1001);
    expect(await ended).toEqual([0, null]);
    for (const line of text().trim().split('\n'))
      expect(JSON.parse(line)).toMatchObject({ service: 'hub-gateway' });
    expect(text()).not.toContain(SECRET);
  });
});

test('a node of another chain ends the hub with 1 and the name of the wrong setting', async () => {
  await withDevnet(async (devnet) => {
    const { text, ended } = start({ ...(await settings(devnet.node_url)), APP_CHAIN_ID: '7778' });
    expect(await ended).toEqual([1, null]);
    expect(text()).toContain('APP_CHAIN_ID is 7778, the node at APP_NODE_URL is of chain 7777');
  });
});

test('missing settings end the hub with 1 and all their names', async () => {
  const { text, ended } = start({});
  expect(await ended).toEqual([1, null]);
  for (const name of [
    'APP_HTTP_PORT',
    'APP_NETWORK',
    'APP_CHAIN_ID',
    'APP_POSTGRES_READER_URL',
    'APP_REDIS_URL',
    'APP_NODE_URL',
    'APP_JWT_SECRET',
  ]) {
    expect(text()).toContain(`${name} is not set`);
  }
});
