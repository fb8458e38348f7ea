import { existsSync } from 'node:fs';
import { Kafka, logLevel } from 'kafkajs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { isFree } from '../../infra/local/stack/ports.ts';
import { rowsOf } from '../support/database.ts';
import { startStack, type Stack } from '../support/stack.ts';

let stack: Stack;
beforeAll(async () => {
  stack = await startStack();
});
afterAll(() => stack.stop());

async function topics(): Promise<string[]> {
  const admin = new Kafka({
    brokers: [stack.addresses.kafka_brokers],
    logLevel: logLevel.NOTHING,
  }).admin();
  await admin.connect();
  try {
    await admin.createTopics({ topics: [{ topic: 'kept' }] });
    return await admin.listTopics();
  } finally {
    await admin.disconnect();
  }
}

async function query(sql: string): Promise<readonly unknown[]> {
  return await rowsOf(stack.addresses.postgres_url, sql);
}

async function registered(): Promise<unknown> {
  const url = `${stack.addresses.registry_url}/subjects/s/versions`;
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/vnd.schemaregistry.v1+json' },
    body: JSON.stringify({ schema: '"string"' }),
  });
  return await answer.json();
}

test('every server of a stack restarts after SIGKILL on its own port with its acknowledged data', async () => {
  expect(await topics()).toContain('kept');
  await query(
    'CREATE SCHEMA kept; CREATE TABLE kept.rows (a int); INSERT INTO kept.rows VALUES (7)',
  );
  const id = await registered();
  for (const server of Object.values(stack.servers)) {
    await server.kill();
    expect(await isFree(server.port)).toBe(true);
    await server.start();
  }
  expect(await topics()).toContain('kept');
  expect(await query('SELECT a FROM kept.rows')).toEqual([{ a: 7 }]);
  expect(await registered()).toEqual(id);
});

test('a service is spawned, run twice, killed and frozen', async () => {
  const first = await stack.spawnService('devnet');
  await first.ready();
  const second = await stack.spawnService('devnet', {
    APP_DEVNET_DIR: `${stack.folder.data}/other`,
    APP_LOG_LEVEL: 'debug',
  });
  await second.ready();
  expect(second.url).not.toBe(first.url);
  expect(first.log()).toContain('"event":"ready"');
  await second.kill('SIGSTOP');
  await second.kill('SIGKILL');
  expect(await second.waitExit()).toEqual({ code: null, signal: 'SIGKILL' });
  await first.kill('SIGTERM');
  expect(await first.waitExit()).toEqual({ code: 0, signal: null });
  const again = await stack.spawnService('devnet');
  expect(again.url).toBe(first.url);
  await again.ready();
});

test('a service that refuses its configuration says so', async () => {
  const devnet = await stack.spawnService('devnet', {
    APP_CHAIN_ID: 'seven',
    APP_DEVNET_DIR: `${stack.folder.data}/third`,
  });
  await expect(devnet.ready()).rejects.toThrow(
    /exited with code 1 before it was ready[^]*APP_CHAIN_ID/,
  );
  await expect(stack.spawnService('devnot')).rejects.toThrow(
    'no service is called devnot; there are devnet, chain-ingester',
  );
});

test('stop leaves no process, no port taken and no data', async () => {
  const devnet = await stack.spawnService('devnet');
  await devnet.ready();
  await stack.stop();
  expect(await devnet.waitExit()).toMatchObject({ signal: 'SIGKILL' });
  for (const port of Object.values(stack.ports)) expect(await isFree(port)).toBe(true);
  expect(existsSync(stack.folder.data)).toBe(false);
});
