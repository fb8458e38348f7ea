/** The schema registry of a stack whose data was deleted, and one that is slow. */
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { SchemaRegistry } from '../../../../services/runtime/kafka/schema-registry.ts';
import { seedPins } from '../../../../services/ops/registry/seeding.ts';
import { opsHere } from '../operator.ts';

/** A server that accepts connections and says nothing. */
async function silent(): Promise<string> {
  const server: Server = createServer(() => undefined).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const address = server.address();
  return `127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
}

/** The stack file of a registry with or without its data, and `ops registry` on that stack. */
async function stackWith({ data, url }: { readonly data: boolean; readonly url?: string }) {
  const folder = mkdtempSync(join(tmpdir(), 'clt-registry-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const [stack_file, registry_data] = [join(folder, 'stack.json'), join(folder, 'registry.mv.db')];
  if (data) writeFileSync(registry_data, '');
  const at = await silent();
  const registry_url = `http://${at}`;
  writeFileSync(stack_file, JSON.stringify({ registry_url, registry_data, kafka_brokers: at }));
  const settings: Record<string, string> = url === undefined ? {} : { APP_REGISTRY_URL: url };
  return {
    stack_file,
    registry_data,
    run: (action: string) =>
      opsHere(`registry ${action} --json --timeout 1 --stack ${stack_file}`, settings),
  };
}

test.each(['check', 'seed'])(
  'registry %s sees that the data of a registry that still answers were deleted, and names the commands that mend it',
  async (action) => {
    const {
      stack_file: stackFile,
      registry_data: registryData,
      run,
    } = await stackWith({ data: false });
    const { code, stdout, stderr } = await run(action);
    expect([code, stdout]).toEqual([2, '']);
    const { error, message }: Readonly<Record<string, string>> = JSON.parse(stderr);
    expect(error).toBe('registry_data_deleted');
    expect(message).toContain(registryData);
    for (const command of ['restart registry', 'registry seed'])
      expect(message).toContain(`npx ops ${command} --stack ${stackFile}`);
  },
);

test.each([
  ['with its data', { data: true }],
  ['elsewhere', { data: false, url: 'http://127.0.0.1:1' }],
])('a registry %s is asked for its schemas', async (_, where) => {
  const { run } = await stackWith(where);
  const { code, stderr } = await run('check');
  expect(code).toBe(2);
  // the brokers are silent
  expect(JSON.parse(stderr)).toMatchObject({ error: 'timeout' });
});

test.each(['/apis/ccompat/v7', ''])(
  'a registry at "%s" that is slow to take schemas is a fault that names the option that waits longer',
  async (path) => {
    const pin = { id: 1, subject: 'topic-One', schema: '{"type":"string"}' };
    const url = `http://${await silent()}${path}`;
    // limit under test
    const registry = new SchemaRegistry({ registry_url: url }, { answer_ms: 100 });
    const seeding = seedPins(registry, [{ ...pin, version: 1, state: 'missing' }], 100);
    await expect(seeding).rejects.toMatchObject({
      code: 'schema_registry',
      message: expect.stringMatching(/within 0\.1 s; .*--timeout SECONDS/),
    });
  },
);
