import { spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { Client } from 'pg';
import { afterEach, expect, inject, test } from 'vitest';
import { deposits } from '../../../../projections/deposits/deposits.ts';
import { toHex } from '../../../../schemas/address.ts';
import { accountAt, depositKey, OTHER_XPUB, XPUB } from '../../../support/deposit-log.ts';
import { freshDatabase } from '../../../support/database.ts';
import { goodToken, SECRET } from '../../../support/tokens.ts';
import { openTables } from '../../../projections/deposits/applied.ts';
import { PATIENT, PATIENT_READS } from '../../../support/stack.ts';
import { prints } from '../../../support/command-line.ts';

const MAIN = new URL('../../../../services/deposit-gateway/main.ts', import.meta.url).pathname;

const running = new Set<ChildProcess>();
afterEach(() => {
  for (const child of running) child.kill('SIGKILL');
  running.clear();
});

interface Started {
  readonly child: ChildProcess;
  readonly text: () => string;
  readonly ended: Promise<unknown>;
}

const { NODE_COMPILE_CACHE } = process.env;

function start(env: Readonly<Record<string, string>>): Started {
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

/** Its tables are there; Kafka and Redis are away. */
async function settings(): Promise<{
  readonly env: Readonly<Record<string, string>>;
  readonly writer_url: string;
}> {
  const urls = await freshDatabase(inject('stack'));
  const pool = await openTables(urls.writer_url, deposits);
  await pool.end();
  const env = {
    APP_NETWORK: 'testnet',
    ...PATIENT,
    APP_LOG_LEVEL: 'trace',
    APP_HTTP_PORT: '0',
    APP_OPS_PORT: '0',
    APP_KAFKA_BROKERS: '127.0.0.1:1',
    APP_REGISTRY_URL: 'http://127.0.0.1:1',
    APP_POSTGRES_READER_URL: urls.reader_url,
    APP_REDIS_URL: 'redis://127.0.0.1:1',
    APP_JWT_SECRET: SECRET,
    APP_DEPOSIT_XPUB: XPUB,
    ...PATIENT_READS,
  };
  return { env, writer_url: urls.writer_url };
}

test('without Kafka lists are served; a shutdown finishes requests and exits with 0; the log holds no token', async () => {
  const { env, writer_url } = await settings();
  const { child, text, ended } = start(env);
  await prints(child, text, '"msg":"listening"');
  const url = /"url":"([^"]+)"/.exec(text())?.[1] ?? '';
  const authorization = `Bearer ${goodToken({ pk: toHex(accountAt(1)), exp: Math.floor(Date.now() / 1_000) + 600 }, SECRET)}`;
  for (const [method, status] of Object.entries({ GET: 200, POST: 503 })) {
    const answer = await fetch(`${url}/api/v1/deposits`, { method, headers: { authorization } });
    expect([method, answer.status]).toEqual([method, status]);
  }
  expect(
    (await fetch(`${url}/api/v1/deposits`, { headers: { authorization: `${authorization}x` } }))
      .status,
  ).toBe(401);

  const holder = new Client({ connectionString: writer_url });
  await holder.connect();
  await holder.query('BEGIN; LOCK TABLE deposits.deposits IN ACCESS EXCLUSIVE MODE');
  const answering = fetch(`${url}/api/v1/deposits`, { headers: { authorization } });
  const waiting = `SELECT count(*)::int AS count FROM pg_locks WHERE NOT granted AND relation = 'deposits.deposits'::regclass`;
  await expect
    .poll(async () => (await holder.query<{ count: number }>(waiting)).rows[0]?.count)
    .toBe(1);
  child.kill('SIGTERM');
  await expect.poll(text).toContain('draining');
  const health = (): Promise<string> =>
    fetch(`${url}/health`).then(
      () => 'answers',
      () => 'gone',
    );
  await expect.poll(health).toBe('gone');
  await holder.query('ROLLBACK');
  await holder.end();
  const answer = await answering;
  expect([answer.status, await answer.text()]).toEqual([200, '{"deposits":[]}']);
  await ended;
  expect(child.exitCode).toBe(0);
  expect(text()).toContain('"msg":"request"');
  for (const secret of [
    SECRET,
    ...authorization.slice('Bearer '.length).split('.'),
    'clt_reader:clt_reader',
  ])
    expect(text()).not.toContain(secret);
});

test('another key than the pinned one exits with 1 and shows both fingerprints', async () => {
  const stack = inject('stack');
  const env = {
    ...(await settings()).env,
    APP_KAFKA_BROKERS: stack.kafka_brokers,
    APP_KAFKA_PREFIX: `${randomUUID()}.`,
    APP_REGISTRY_URL: stack.registry_url,
  };
  const first = start(env);
  await prints(first.child, first.text, '"msg":"listening"');
  const url = /"url":"([^"]+)"/.exec(first.text())?.[1] ?? '';
  await expect.poll(async () => (await fetch(`${url}/ready`)).status).toBe(200);
  const { child, text, ended } = start({ ...env, APP_DEPOSIT_XPUB: OTHER_XPUB });
  await ended;
  expect(child.exitCode).toBe(1);
  expect(text()).toContain('"level":"fatal"');
  expect(text()).toContain(
    `deposit.addresses is pinned to the one with fingerprint ${toHex(depositKey().fingerprint)} for ever`,
  );
});

test('a bad configuration exits with 1 and shows every problem', async () => {
  const { child, text, ended } = start({ APP_NETWORK: 'mainnet', APP_JWT_SECRET: 'too short' });
  await ended;
  expect(child.exitCode).toBe(1);
  for (const name of [
    'APP_ALLOWED_ACCOUNTS is not set',
    'APP_JWT_SECRET is not a secret of at least 32 characters',
    'APP_DEPOSIT_XPUB is not set',
  ])
    expect(text()).toContain(name);
  expect(text()).not.toContain('too short');
});
