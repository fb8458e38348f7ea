/** A codec that registers its schemas and pins none, for tests that write records by hand. */
import type { Unread } from '../../projections/contract/projection.ts';
import type { Topic } from '../../schemas/topics.ts';
import { readSchemas } from '../../services/runtime/kafka/avro-schemas.ts';
import { codecOf, type Codec } from '../../services/runtime/kafka/codec.ts';
import { SchemaRegistry } from '../../services/runtime/kafka/schema-registry.ts';

export async function openCodec(
  registry_url: string,
  topics: readonly Topic[],
  unread: Unread = {},
): Promise<Codec> {
  const registry = new SchemaRegistry({ registry_url });
  const schemas = await readSchemas(topics, unread);
  const ids: number[] = [];
  for (const { subject, text } of schemas) ids.push(await registry.register(subject, text));
  return codecOf(registry, schemas, ids);
}
