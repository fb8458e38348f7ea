/**
 * Encodes and decodes events: Avro in Confluent's wire format (a zero byte, the schema's id in four
 * bytes, the body). The schema registry keeps the schema of each id. Encoding and decoding are
 * synchronous: awaiting a short record costs more than decoding it.
 *
 * A record names its event and its schema's fingerprint in headers too. A record that the registry
 * takes for another one is not decoded: such a registry is not the one of this log.
 */
import type avro from 'avsc';
import type { Unread } from '../../../projections/contract/projection.ts';
import { BrokenChain } from '../../../schemas/hash-chain.ts';
import type { Pin } from '../../../schemas/schema.ids/pin.ts';
import { PROJECTOR_SKIPS, type Topic } from '../../../schemas/topics.ts';
import {
  HEADER_BYTES,
  readSchemas,
  sameSchema,
  schemaFingerprint,
  schemaIdOf,
  type Declared,
} from './avro-schemas.ts';
import { Fault, messageOf } from '../process/errors.ts';
import type { LogRecord } from './record.ts';
import { anotherRegistry, differenceText, pinIds, readPins, type PinnedIds } from './schema-ids.ts';
import { SchemaRegistry, type RegistrySettings } from './schema-registry.ts';

type Headers = LogRecord['headers'];

interface Known {
  readonly event_type: string;
  readonly decode: (body: Buffer) => object;
  /** what a record's headers have to say, if they say it */
  readonly headers: readonly (readonly [name: string, value: Buffer])[];
}

/** Registers nothing and looks schemas up only: its user at the registry need not write. */
export interface Decoder {
  /**
   * Reads the unknown schemas of these values; to be awaited before `decode`. Throws a fault with
   * retry while the registry is away, or says of a pinned id something else than the log.
   */
  learn(values: readonly (Buffer | null)[]): Promise<void>;
  /** The event, with its `type`. Throws `undecodable`. */
  decode(value: Buffer | null, headers?: Headers): { readonly type: string };
}

export interface Codec extends Decoder {
  /** The bytes of an event. Its `type` names the schema. */
  encode(event: { readonly type: string }): Buffer;
  /** The header `schema_fingerprint` of an event of this type. */
  fingerprintOf(type: string): string;
}

/** A reason may quote the record: what no table or terminal takes is left out, and the end. */
export function undecodable(reason: string): Fault {
  const text = reason.slice(0, REASON_MAX).replaceAll(/\p{Cc}/gu, '\uFFFD');
  return new Fault('undecodable', text, { retry: false });
}

const REASON_MAX = 2_000;

/** Why a record cannot be applied. Throws an error that says nothing about a record. */
export function poisonReason(error: unknown): string {
  if (error instanceof BrokenChain) return error.reason;
  if (error instanceof Fault && error.code === 'undecodable') return error.message;
  throw error;
}

/**
 * For processes that only read these topics, and the decisions to skip records. Unread fields are
 * undefined in decoded events.
 */
export async function openDecoder(
  registry: RegistrySettings,
  pinned: Pick<PinnedIds, 'kafka' | 'pins'>,
  topics: readonly Topic[],
  unread: Unread = {},
): Promise<Decoder> {
  const schemas = await readSchemas([...topics, PROJECTOR_SKIPS], unread);
  return new EventDecoder(new SchemaRegistry(registry), schemas, () => readPins(pinned));
}

/**
 * For processes that write to `topics`, and read `read` too. Registers every event of `topics`
 * (FULL_TRANSITIVE: each version reads the records of all others), and pins its id. Throws
 * `another_registry` with retry where the registry is not the one of this log.
 */
export async function openCodec(
  settings: RegistrySettings,
  pinned: PinnedIds,
  topics: readonly Topic[],
  read: readonly Topic[] = [],
): Promise<Codec> {
  const registry = new SchemaRegistry(settings);
  const written = await readSchemas(topics);
  const ids = await pinIds(pinned, registry, written);
  const others = await readSchemas([...read, PROJECTOR_SKIPS]);
  return codecOf(registry, written, ids, others, () => readPins(pinned));
}

/** `ids`: of the written schemas. */
export function codecOf(
  registry: SchemaRegistry,
  written: readonly Declared[],
  ids: readonly number[],
  read: readonly Declared[] = [],
  pins: Pins = NO_PINS,
): Codec {
  const decoder = new EventDecoder(registry, [...written, ...read], pins);
  const byType = new Map(
    written.map((schema, at) => [
      schema.event_type,
      { id: ids[at] ?? 0, type: schema.type, fingerprint: schemaFingerprint(schema.type) },
    ]),
  );
  for (const { id, type } of byType.values()) decoder.add(id, type);
  const schemaOf = (type: string): { id: number; type: avro.Type; fingerprint: string } => {
    const schema = byType.get(type);
    if (schema === undefined) throw new Error(`no topic of this codec carries ${type}`);
    return schema;
  };
  return {
    learn: (values) => decoder.learn(values),
    decode: (value, headers) => decoder.decode(value, headers),
    encode(event) {
      const { id, type } = schemaOf(event.type);
      const body = type.toBuffer(event);
      const bytes = Buffer.allocUnsafe(HEADER_BYTES + body.length);
      bytes.writeUInt8(0, 0);
      bytes.writeUInt32BE(id, 1);
      body.copy(bytes, HEADER_BYTES);
      return bytes;
    },
    fingerprintOf: (type) => schemaOf(type).fingerprint,
  };
}

/** The pins of the log as they are now. */
export type Pins = () => Promise<readonly Pin[]>;

const NO_PINS: Pins = () => Promise.resolve([]);

export class EventDecoder implements Decoder {
  readonly #registry: SchemaRegistry;
  readonly #schemas: readonly Declared[];
  readonly #pins: Pins;
  readonly #known = new Map<number, Known>();
  /** why an id cannot be read */
  readonly #refused = new Map<number, string>();

  constructor(registry: SchemaRegistry, schemas: readonly Declared[], pins: Pins) {
    this.#registry = registry;
    this.#schemas = schemas;
    this.#pins = pins;
  }

  /** The id names this schema. Throws `undecodable`. */
  add(id: number, writer: avro.Type): void {
    const schema = this.#schemas.find(({ type }) => type.name === writer.name);
    const name = writer.name ?? 'nameless';
    if (schema === undefined)
      throw undecodable(
        `schema ${id} is ${name}, an event that this version of the software does not know: where newer software wrote it, upgrade this reader first, it goes on at this record; do not skip it then (docs/operations/upgrade.md)`,
      );
    this.#known.set(id, {
      event_type: schema.event_type,
      decode: decoderOf(schema, writer, `schema ${id} (${name})`),
      headers: [
        ['event_type', Buffer.from(schema.event_type)],
        ['schema_fingerprint', Buffer.from(schemaFingerprint(writer))],
      ],
    });
  }

  async learn(values: readonly (Buffer | null)[]): Promise<void> {
    const missing = new Set<number>();
    for (const value of values) {
      const id = value === null ? undefined : schemaIdOf(value);
      if (id !== undefined && !this.#known.has(id)) missing.add(id);
    }
    if (missing.size === 0) return;
    const pins = await this.#pins();
    for (const id of missing) {
      try {
        const pin = pins.find((each) => each.id === id);
        this.add(id, await this.#read(id, pin));
      } catch (error) {
        if (!(error instanceof Fault) || error.retry) throw error;
        // `decode` throws at the record itself, so that the records before it are applied
        this.#refused.set(id, error.message);
      }
    }
  }

  decode(value: Buffer | null, headers: Headers = {}): { readonly type: string } {
    if (value === null) throw undecodable('the record has no value');
    const id = schemaIdOf(value);
    if (id === undefined)
      throw undecodable(
        `the value does not begin as Avro with a schema id: ${value.subarray(0, 8).toString('hex')} (${value.length} bytes)`,
      );
    const schema = this.#known.get(id);
    if (schema === undefined)
      throw undecodable(this.#refused.get(id) ?? `schema ${id} was never looked up`);
    for (const [name, expected] of schema.headers) {
      const header = headers[name];
      if (header !== undefined && !isSame(header, expected))
        throw undecodable(
          `the header ${name} is ${String(header)}, and schema ${id} is that of ${schema.event_type} with ${name} ${String(expected)}: the schema registry is not the one of this log, or the record was written with another one's id; see docs/operations/backup.md, "Wrong ids"`,
        );
    }
    try {
      return Object.assign(schema.decode(value.subarray(HEADER_BYTES)), {
        type: schema.event_type,
      });
    } catch (cause) {
      throw undecodable(
        `the bytes do not fit schema ${id} (${schema.event_type}): ${messageOf(cause)}`,
      );
    }
  }

  /**
   * Where the registry says of a pinned id something else than the log, or nothing, it is the wrong
   * one or has lost its data: no record is judged by it. An id that is not pinned was written by
   * other software.
   */
  async #read(id: number, pin: Pin | undefined): Promise<avro.Type> {
    const type = await this.#registry.schema(id);
    if (pin !== undefined && (typeof type !== 'object' || !sameSchema(pin.schema, type)))
      throw anotherRegistry(differenceText({ pin, found: type }));
    if (typeof type === 'object') return type;
    if (type !== undefined) throw undecodable(`schema ${id} is not Avro`);
    throw undecodable(
      `no schema ${id} at the registry, and none is pinned: the record was not written by this software, or the registry has lost the schema of a log without pins`,
    );
  }
}

/** The port's headers are bytes; a repeated header never fits. */
function isSame(header: NonNullable<Headers[string]>, expected: Buffer): boolean {
  return Buffer.isBuffer(header) ? header.equals(expected) : header === String(expected);
}

function decoderOf({ reader }: Declared, writer: avro.Type, what: string): Known['decode'] {
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
