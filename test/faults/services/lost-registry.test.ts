/** A schema registry that loses its data while services run, and gets it back from the log. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { SCHEMA_IDS, TOPICS } from '../../../schemas/topics.ts';
import { defaultSettings } from '../../../infra/services/settings.ts';
import { SchemaRegistry } from '../../../services/runtime/kafka/schema-registry.ts';
import { readTopicEnds } from '../../../services/runtime/kafka/ends.ts';
import { opsHere, type Ended } from '../../services/ops/operator.ts';
import { freshDatabase, rowsOf } from '../../support/database.ts';
import { testKafka } from '../../support/kafka.ts';
import { startStack, type ServiceHandle, type Stack } from '../../support/stack.ts';

const SERVICES = ['devnet', 'chain-ingester', 'projector-explorer'] as const;

let stack: Stack;

beforeAll(async () => {
  const { writer_url: writerUrl, reader_url: readerUrl } = await freshDatabase(inject('stack'));
  stack = await startStack({ others: { postgres_url: writerUrl, postgres_reader_url: readerUrl } });
});
afterAll(() => stack?.stop());

async function statusOf({ url }: ServiceHandle): Promise<Readonly<Record<string, unknown>>> {
  const response = await fetch(`${url}/status`).catch(() => undefined);
  if (response === undefined) return {};
  const status: Readonly<Record<string, unknown>> = JSON.parse(await response.text());
  return status;
}

function ops(words: string): Promise<Ended> {
  const { kafka_brokers, registry_url, postgres_url, postgres_reader_url } = stack.addresses;
  return opsHere(words, {
    APP_KAFKA_BROKERS: kafka_brokers,
    APP_REGISTRY_URL: registry_url,
    APP_POSTGRES_URL: postgres_url,
    APP_POSTGRES_READER_URL: postgres_reader_url,
    APP_USDT_CONTRACT: defaultSettings.APP_USDT_CONTRACT,
  });
}

test('services on an emptied registry append nothing, say why, and go on once it is seeded', async () => {
  const kafka = testKafka(stack.addresses);
  const ends = async (): Promise<unknown> =>
    readTopicEnds(
      kafka,
      [SCHEMA_IDS, ...TOPICS].map(({ name }) => name),
    );
  const running: ServiceHandle[] = [];
  for (const name of SERVICES) running.push(await stack.spawnService(name));
  await Promise.all(running.map((service) => service.ready()));
  const blocks = async (): Promise<bigint> =>
    (await readTopicEnds(kafka, ['chain.blocks']))[0]?.high ?? 0n;
  await expect.poll(blocks).toBeGreaterThan(5n);
  // a verify reads as far as the tables are
  const folded = (): ReturnType<typeof rowsOf> =>
    rowsOf(stack.addresses.postgres_url, 'SELECT 1 FROM explorer.blocks LIMIT 1');
  await expect.poll(folded).toHaveLength(1);
  const before = await ops('registry check --json');
  expect(before.code).toBe(0);

  // the projector has something to read when it starts again
  for (const service of running.slice(1).toReversed()) {
    await service.kill();
    const seen = await blocks();
    if (service.name === 'projector-explorer') await expect.poll(blocks).toBeGreaterThan(seen);
  }
  const { registry } = stack.servers;
  await registry.kill();
  rmSync(join(stack.folder.data, 'registry'), { recursive: true, force: true });
  await registry.start();
  const appended = await ends();

  const again = new Map<string, ServiceHandle>();
  for (const name of SERVICES.slice(1)) again.set(name, await stack.spawnService(name));
  for (const service of again.values())
    await expect
      .poll(() => statusOf(service))
      .toMatchObject({
        status: 'halted',
        waits_for: 'registry',
        message: expect.stringContaining(
          'the schema registry is not the one of this log',
        ) as unknown,
      });
  expect(await new SchemaRegistry(stack.addresses).subjects()).toEqual([]);
  expect(await ends()).toEqual(appended);
  expect((await ops('registry check')).code).toBe(2);
  for (const command of ['verify explorer', 'audit'])
    expect(await ops(command)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('ops registry seed') as unknown,
    });

  expect(await ops('registry seed')).toMatchObject({ code: 0 });
  expect(await ops('registry check --json')).toMatchObject({ code: 0, stdout: before.stdout });
  for (const service of again.values()) await service.ready();
  const restored = await blocks();
  await expect.poll(blocks).toBeGreaterThan(restored);
  expect(await ops('verify explorer')).toMatchObject({ code: 0 });
  // a schema of a later version gets an id that no pin has
  const pinned: readonly { readonly id: number }[] = JSON.parse(before.stdout);
  const later = JSON.stringify({ type: 'record', name: 'later', fields: [] });
  const id = await new SchemaRegistry(stack.addresses).register('later', later);
  expect(id).toBeGreaterThan(Math.max(...pinned.map((pin) => pin.id)));
});
