import { afterEach, beforeEach, expect, test } from 'vitest';
import { SchemaRegistry } from '../../../../services/runtime/kafka/schema-registry.ts';
import { ScriptedRegistry } from '../../../support/scripted-registry.ts';

let scripted: ScriptedRegistry;
beforeEach(async () => {
  scripted = await ScriptedRegistry.open();
});
afterEach(() => scripted.close());

test('a service whose setting loses the race against that of another one sets it again', async () => {
  const registry = new SchemaRegistry({ registry_url: scripted.url });
  scripted.races = 1;
  await registry.setCompatibility('subject');
  expect(scripted.compatibility.get('subject')).toBe('FULL_TRANSITIVE');
});

test('a setting that loses every race is a fault with retry', async () => {
  const registry = new SchemaRegistry({ registry_url: scripted.url });
  scripted.races = Infinity;
  await expect(registry.setCompatibility('subject')).rejects.toMatchObject({
    code: 'schema_registry',
    retry: true,
  });
});
