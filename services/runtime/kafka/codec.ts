/**
 * Encodes and decodes events: Avro in Confluent's wire format (a zero byte, the schema's id in four
 * bytes, the body). The schema registry assigns ids and keeps all versions. Encoding and decoding
 * are synchronous: awaiting each record costs more than decoding it.
 */
import { readFile } from 'node:fs/promises';
import { COMPATIBILITY, SchemaRegistry, SchemaType } from '@kafkajs/confluent-schema-registry';
import avro from 'avsc';
import type { Unread } from '../../../projections/contract/projection.ts';
import { subjectOf, type Topic } from '../../../schemas/topics.ts';
import { AVRO_OPTIONS, UNREAD } from './avro-types.ts';
import { Fault, messageOf, propertyOf } from '../process/errors.ts';

/** A zero byte and the schema's id in four. */
export const HEADER_BYTES = 5;
const ANSWER_MS = 5_000;
const REGISTER_TRIES = 10;

type Middleware = NonNullable<
  ConstructorParameters<typeof SchemaRegistry>[0]['middlewares']
>[number];

interface Known {
  readonly event_type: string;
  readonly decode: (body: Buffer) => object;
}

export interface Codec {
  /** The bytes of an event. Its `type` names the schema. */
  encode(event: { readonly type: string }): Buffer;
  /**
   * Reads the unknown schemas of these values; to be awaited before `decode`. Throws a fault with
   * retry while the registry is away.
   */
  learn(values: readonly (Buffer | null)[]): Promise<void>;
  /** The event, with its `type`. Throws `undecodable`. */
  decode(value: Buffer | null): { readonly type: string };
}

/** The client itself waits for ever for a registry that accepts connections and does not answer. */
const answersInTime: Middleware = () => ({
  prepareRequest: async (next) => (await next()).enhance({ timeout: ANSWER_MS }),
});

export function undecodable(reason: string): Fault {
  return new Fault('undecodable', reason, { retry: false });
}

interface Parsed {
  readonly namespace: string;
  readonly type: avro.Type;
  /** skips unread fields */
  readonly reader: avro.Type;
  readonly text: string;
}

async function parseSchema(avsc: URL, unread: Unread): Promise<Parsed> {
  const text = await readFile(avsc, 'utf8');
  const schema: avro.schema.RecordType = JSON.parse(text);
  const lean: avro.schema.RecordType = JSON.parse(text, (_, part: unknown) =>
    withoutUnread(part, unread),
  );
  return { namespace: schema.namespace ?? '', type: typeOf(schema), reader: typeOf(lean), text };
}

function typeOf(schema: avro.Schema): avro.Type {
  return avro.Type.forSchema(schema, { ...AVRO_OPTIONS });
}

/** Marks the unread fields of a record. */
function withoutUnread(part: unknown, unread: Unread): unknown {
  if (!isRecord(part)) return part;
  for (const name of unread[part.name] ?? []) {
    const field = part.fields.find((each) => each.name === name);
    // a named type may be used by other fields
    if (
      field === undefined ||
      Array.isArray(field.type) ||
      (typeof field.type === 'object' && 'name' in field.type)
    )
      throw new Error(`${part.name} has no field ${name} that can be skipped`);
    if (typeof field.type === 'object') Object.assign(field.type, { logicalType: UNREAD });
    else Object.assign(field, { type: { type: field.type, logicalType: UNREAD } });
  }
  return part;
}

function isRecord(part: unknown): part is avro.schema.RecordType {
  return typeof part === 'object' && part !== null && 'type' in part && part.type === 'record';
}

/**
 * Registers every event of these topics (FULL_TRANSITIVE: each version reads the records of all
 * others). Unread fields are undefined in decoded events.
 */
export async function openCodec(
  registryUrl: string,
  topics: readonly Topic[],
  unread: Unread = {},
): Promise<Codec> {
  const registry = new WriterSchemas(registryUrl, AVRO_OPTIONS);
  const readers = new Map<string, avro.Type>();
  const written = new Map<string, { readonly id: number; readonly type: avro.Type }>();
  const known = new Map<number, Known>();
  const refused = new Map<number, string>();

  for (const topic of topics) {
    for (const event of topic.events) {
      const { namespace, type, reader, text } = await parseSchema(event.avsc, unread);
      const subject = subjectOf(topic, event, namespace);
      const { id } = await register(registry.client, registryUrl, subject, text).catch(
        (cause: unknown) => {
          throw registryFault(`schema ${subject} was not registered at ${registryUrl}`, cause);
        },
      );
      readers.set(`${namespace}.${event.type}`, reader);
      written.set(event.type, { id, type });
      known.set(id, { event_type: event.type, decode: decoderOf(reader, type, text) });
    }
  }

  async function learnId(id: number): Promise<void> {
    const writer = await registry.read(id);
    const name = writer.name ?? 'nameless';
    const reader = readers.get(name);
    if (reader === undefined)
      throw undecodable(
        `schema ${id} is ${name}, an event that this version of the software does not know`,
      );
    known.set(id, {
      event_type: name.slice(name.lastIndexOf('.') + 1),
      decode: decoderOf(reader, writer, `schema ${id} (${name})`),
    });
  }

  return {
    encode(event) {
      const schema = written.get(event.type);
      if (schema === undefined) throw new Error(`no topic of this codec carries ${event.type}`);
      const body = schema.type.toBuffer(event);
      const bytes = Buffer.allocUnsafe(HEADER_BYTES + body.length);
      bytes.writeUInt8(0, 0);
      bytes.writeUInt32BE(schema.id, 1);
      body.copy(bytes, HEADER_BYTES);
      return bytes;
    },

    async learn(values) {
      const missing = new Set<number>();
      for (const value of values) {
        const id = value === null ? undefined : schemaIdOf(value);
        if (id !== undefined && !known.has(id)) missing.add(id);
      }
      for (const id of missing) {
        await learnId(id).catch((error: unknown) => {
          if (!(error instanceof Fault) || error.retry) throw error;
          // `decode` throws at the record itself, so that the records before it are applied
          refused.set(id, error.message);
        });
      }
    },

    decode(value) {
      if (value === null) throw undecodable('the record has no value');
      const id = schemaIdOf(value);
      if (id === undefined)
        throw undecodable(
          `the value does not begin as Avro with a schema id: ${value.subarray(0, 8).toString('hex')} (${value.length} bytes)`,
        );
      const schema = known.get(id);
      if (schema === undefined)
        throw undecodable(refused.get(id) ?? `schema ${id} was never looked up`);
      try {
        return Object.assign(schema.decode(value.subarray(HEADER_BYTES)), {
          type: schema.event_type,
        });
      } catch (cause) {
        throw undecodable(
          `the bytes do not fit schema ${id} (${schema.event_type}): ${messageOf(cause)}`,
        );
      }
    },
  };
}

/** The schemas that records were written with, by id. */
export class WriterSchemas {
  readonly client: SchemaRegistry;
  readonly #url: string;

  /** `options` are those of `avsc`: they say how values are read. */
  constructor(registryUrl: string, options: typeof AVRO_OPTIONS | Partial<avro.ForSchemaOptions>) {
    this.#url = registryUrl;
    this.client = new SchemaRegistry(
      { host: registryUrl, middlewares: [answersInTime] },
      { [SchemaType.AVRO]: options },
    );
  }

  /** Throws `undecodable` for an unknown id, a fault with retry while the registry is away. */
  async read(id: number): Promise<avro.Type> {
    const schema: unknown = await this.client.getSchema(id).catch((cause: unknown) => {
      throw propertyOf(cause, 'status') === 404
        ? undecodable(`no schema ${id} at the registry`)
        : registryFault(`schema ${id} was not read from ${this.#url}`, cause);
    });
    if (!(schema instanceof avro.Type)) throw undecodable(`schema ${id} is not Avro`);
    return schema;
  }
}

/** The schema id of a value, undefined when it does not have one. */
export function schemaIdOf(value: Buffer): number | undefined {
  return value.length >= HEADER_BYTES && value[0] === 0 ? value.readUInt32BE(1) : undefined;
}

/**
 * The client registers first and sets the compatibility afterwards: a service that finds a subject
 * in between, or after a kill, sets it. Of services that register a schema at the same moment all
 * but one get "already exists": they ask again.
 */
async function register(
  registry: SchemaRegistry,
  registryUrl: string,
  subject: string,
  schema: string,
): Promise<{ readonly id: number }> {
  for (let tries = 1; ; tries++) {
    try {
      return await registry.register(
        { type: SchemaType.AVRO, schema },
        { subject, compatibility: COMPATIBILITY.FULL_TRANSITIVE },
      );
    } catch (error) {
      if (tries === REGISTER_TRIES) throw error;
      if (isCompatibilityUnset(error)) await setCompatibility(registryUrl, subject);
      else if (!isJustRegistered(error)) throw error;
    }
  }
}

async function setCompatibility(registryUrl: string, subject: string): Promise<void> {
  const response = await fetch(`${registryUrl}/config/${encodeURIComponent(subject)}`, {
    method: 'PUT',
    headers: { 'content-type': 'application/vnd.schemaregistry.v1+json' },
    body: JSON.stringify({ compatibility: COMPATIBILITY.FULL_TRANSITIVE }),
    signal: AbortSignal.timeout(ANSWER_MS),
  });
  await response.arrayBuffer();
}

function isJustRegistered(error: unknown): boolean {
  return /already exists/i.test(messageOf(error));
}

function isCompatibilityUnset(error: unknown): boolean {
  return (
    propertyOf(error, 'name') === 'ConfluentSchemaRegistryCompatibilityError' &&
    messageOf(error).includes(`!= ${COMPATIBILITY.NONE}`)
  );
}

function decoderOf(reader: avro.Type, writer: avro.Type, what: string): Known['decode'] {
  try {
    // a resolver between equal schemas only costs time
    const resolver = reader.equals(writer) ? undefined : reader.createResolver(writer);
    return (body) => reader.fromBuffer(body, resolver);
  } catch (cause) {
    throw undecodable(
      `${what} cannot be read as this version of the software knows the event: ${messageOf(cause)}`,
    );
  }
}

function registryFault(message: string, cause: unknown): Fault {
  const { retry, remedy } = remedyOf(cause);
  return new Fault('schema_registry', `${message}: ${messageOf(cause)}; ${remedy}`, {
    retry,
    cause,
  });
}

function remedyOf(cause: unknown): { readonly retry: boolean; readonly remedy: string } {
  if (propertyOf(cause, 'name') === 'ConfluentSchemaRegistryCompatibilityError') {
    return {
      retry: false,
      remedy: `set the subject's compatibility to ${COMPATIBILITY.FULL_TRANSITIVE} at the registry, and look at who changed it`,
    };
  }
  if (isJustRegistered(cause))
    return { retry: true, remedy: 'another service has just registered it' };
  const status = propertyOf(cause, 'status');
  if (status === 409)
    return {
      retry: false,
      remedy:
        'change the schema so that it and every earlier version read each other (new fields with a default)',
    };
  if (status === 422)
    return { retry: false, remedy: 'correct the schema: the registry does not take it for Avro' };
  return { retry: true, remedy: 'start the schema registry or correct APP_REGISTRY_URL' };
}
