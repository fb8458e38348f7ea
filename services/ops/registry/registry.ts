/** `ops registry check|seed`: the schema registry against the ids that the log has pinned. */
import { existsSync } from 'node:fs';
import { SCHEMA_IDS } from '../../../schemas/topics.ts';
import { readPins, type PinnedIds } from '../../runtime/kafka/schema-ids.ts';
import { SchemaRegistry, type RegistrySettings } from '../../runtime/kafka/schema-registry.ts';
import { Fault } from '../../runtime/process/errors.ts';
import { KAFKA, readSettings, readStackFile, REGISTRY } from '../config.ts';
import { jsonOf, kafkaOf, LOG, note, print } from '../connections.ts';
import { coloured, printPaged, table } from '../text.ts';
import { pasted, timeout, type SharedArguments } from '../usage.ts';
import { comparePins, seedPins, type ComparedPin } from './seeding.ts';

interface Where extends PinnedIds {
  readonly registry: RegistrySettings;
  /** of the registry to each request; undefined: the defaults */
  readonly answer_ms?: number | undefined;
}

export async function checkRegistry(args: SharedArguments): Promise<number> {
  const where = whereOf(args);
  const pins = await comparePins(registryOf(where), await readPins(where));
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
      `an id cannot be given to another schema, so none is registered: start the registry with empty data, or point APP_REGISTRY_URL to another one, then ${pasted('registry seed', args)}`,
      args,
    );
  else if (states.has('missing')) {
    const missing = pins.filter(({ state }) => state === 'missing').length;
    note(
      `${missing} of the ${pins.length} schemas of this log are missing there: ${pasted('registry seed', args)} registers them`,
      args,
    );
  }
  return states.has('other') || states.has('missing') ? 2 : 0;
}

/** The pins as they are afterwards. */
export async function seed(
  where: Where,
): Promise<{ readonly pins: readonly ComparedPin[]; readonly seeded: number }> {
  const registry = registryOf(where);
  const pinned = await readPins(where);
  const pins = await comparePins(registry, pinned);
  const missing = pins.filter(({ state }) => state === 'missing');
  if (missing.length === 0 || pins.some(({ state }) => state === 'other'))
    return { pins, seeded: 0 };
  await seedPins(registry, missing, where.answer_ms);
  return { pins: await comparePins(registry, pinned), seeded: missing.length };
}

function whereOf(args: SharedArguments): Where {
  const config = readSettings({ ...KAFKA, ...REGISTRY }, args.stack);
  assertDataExists(config, args);
  const answer_ms = args.timeout === undefined ? undefined : timeout(args, 0);
  return { registry: config, kafka: kafkaOf(config), log: LOG, answer_ms };
}

function registryOf({ registry, answer_ms }: Where): SchemaRegistry {
  return new SchemaRegistry(registry, { answer_ms });
}

/** A registry whose file was deleted answers until it ends: it has the file open. */
function assertDataExists(registry: RegistrySettings, args: SharedArguments): void {
  const stack = readStackFile(args.stack);
  const file: unknown = Reflect.get(stack, 'registry_data');
  const isOfStack = Reflect.get(stack, 'registry_url') === registry.registry_url;
  if (!isOfStack || typeof file !== 'string' || existsSync(file)) return;
  throw new Fault(
    'registry_data_deleted',
    `${file}, the data of the registry, was deleted: the registry answers until it ends, and then has no schema. ${pasted('restart registry', args)} starts it with new data, then ${pasted('registry seed', args)} registers the schemas of the log`,
    { retry: false },
  );
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
