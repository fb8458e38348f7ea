/** A codec that registers its schemas and pins none, for tests that write records by hand. */
import type { Unread } from '../../projections/contract/projection.ts';
import type { Pin } from '../../schemas/schema.ids/pin.ts';
import { PROJECTOR_SKIPS, type Topic } from '../../schemas/topics.ts';
import { readSchemas } from '../../services/runtime/kafka/avro-schemas.ts';
import {
  codecOf,
  EventDecoder,
  type Codec,
  type Decoder,
} from '../../services/runtime/kafka/codec.ts';
import {
  SchemaRegistry,
  type RegistrySettings,
} from '../../services/runtime/kafka/schema-registry.ts';
import { retrying } from '../../services/runtime/process/retry.ts';
import { never, silentLog } from './kafka.ts';

export async function openCodec(
  registry_url: string,
  topics: readonly Topic[],
  unread: Unread = {},
): Promise<Codec> {
  const registry = new SchemaRegistry({ registry_url });
  const schemas = await readSchemas(topics, unread);
  const ids: number[] = [];
  for (const { subject, text } of schemas) ids.push(await registry.register(subject, text));
  return codecOf(registry, schemas, ids, await readSchemas([PROJECTOR_SKIPS]));
}

const AGAIN = { what: 'registering schemas', log: silentLog(), signal: never };
const shared = new Map<string, Promise<Codec>>();

/** As `openCodec`, once for all worlds on a registry that outlives them. */
export function sharedCodec(registry_url: string, topics: readonly Topic[]): Promise<Codec> {
  const names = topics.map(({ name }) => name).join(' ');
  const key = `${registry_url} ${names}`;
  return shared.getOrInsertComputed(key, () =>
    // on a busy machine an answer can take longer than the registry's clients wait
    retrying(AGAIN, () => openCodec(registry_url, topics)).catch((error: unknown) => {
      shared.delete(key);
      throw error;
    }),
  );
}

/** A decoder of a log with these pins. */
export async function openDecoder(
  settings: RegistrySettings,
  topics: readonly Topic[],
  pins: readonly Pin[] = [],
): Promise<Decoder> {
  const schemas = await readSchemas([...topics, PROJECTOR_SKIPS]);
  return new EventDecoder(new SchemaRegistry(settings), schemas, () => Promise.resolve(pins));
}
