/** `ops registry check|seed`: the schema registry against the ids that the log has pinned. */
import { SCHEMA_IDS } from '../../../schemas/topics.ts';
import { readPins, type PinnedIds } from '../../runtime/kafka/schema-ids.ts';
import { SchemaRegistry, type RegistrySettings } from '../../runtime/kafka/schema-registry.ts';
import { KAFKA, readSettings, REGISTRY } from '../config.ts';
import { jsonOf, kafkaOf, LOG, note, print } from '../connections.ts';
import { coloured, printPaged, table } from '../text.ts';
import type { SharedArguments } from '../usage.ts';
import { comparePins, seedPins, type ComparedPin } from './seeding.ts';

interface Where extends PinnedIds {
  readonly registry: RegistrySettings;
}

export async function checkRegistry(args: SharedArguments): Promise<number> {
  const where = whereOf(args);
  const pins = await comparePins(new SchemaRegistry(where.registry), await readPins(where));
  show(pins, args);
  return concluded(pins, args);
}

export async function seedRegistry(args: SharedArguments): Promise<number> {
  const { pins, seeded } = await seed(whereOf(args));
  show(pins, args);
  note(`${seeded} schemas were registered`, args);
  return concluded(pins, args);
}

/** Says what to do where the registry is not that of the log. The exit code. */
function concluded(pins: readonly ComparedPin[], args: SharedArguments): number {
  const states = new Set(pins.map(({ state }) => state));
  if (states.has('other'))
    note(
      'an id cannot be given to another schema, so none is registered: start the registry with empty data, or point APP_REGISTRY_URL to another one, then ops registry seed',
      args,
    );
  else if (states.has('missing'))
    note('a registry that lost these schemas gets them from the log: ops registry seed', args);
  return states.has('other') || states.has('missing') ? 2 : 0;
}

/** The pins as they are afterwards. */
export async function seed(
  where: Where,
): Promise<{ readonly pins: readonly ComparedPin[]; readonly seeded: number }> {
  const registry = new SchemaRegistry(where.registry);
  const pinned = await readPins(where);
  const pins = await comparePins(registry, pinned);
  const missing = pins.filter(({ state }) => state === 'missing');
  if (missing.length === 0 || pins.some(({ state }) => state === 'other'))
    return { pins, seeded: 0 };
  await seedPins(registry, missing);
  return { pins: await comparePins(registry, pinned), seeded: missing.length };
}

function whereOf({ stack }: SharedArguments): Where {
  const config = readSettings({ ...KAFKA, ...REGISTRY }, stack);
  return { registry: config, kafka: kafkaOf(config), log: LOG };
}

function show(pins: readonly ComparedPin[], { json }: SharedArguments): void {
  if (json === true) return print(jsonOf(pins.map(({ schema: _schema, ...pin }) => pin)));
  if (pins.length === 0) return print(`${SCHEMA_IDS.name} has no record: no id is pinned yet`);
  const rows = pins.map(({ id, subject, version, state }) => [
    coloured(state === 'present' ? 'green' : 'red', state),
    String(id),
    `${subject} ${version}`,
  ]);
  printPaged(table(['STATE', 'ID', 'SUBJECT AND VERSION'], rows));
}
