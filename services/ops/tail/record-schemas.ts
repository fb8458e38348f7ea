/** The values of records as they are shown, each by the schema that it was written with. */
import type avro from 'avsc';
import { HEADER_BYTES, schemaIdOf, WriterSchemas } from '../../runtime/kafka/codec.ts';
import { Fault, messageOf } from '../../runtime/process/errors.ts';
import { SHOWN_OPTIONS } from './shown-types.ts';

/** A value as it is shown, or why it cannot be. */
export interface Shown {
  /** without its namespace; null where the schema is not known */
  readonly type: string | null;
  readonly schema_id: number | null;
  readonly value?: unknown;
  readonly unreadable?: string;
}

const NO_VALUE = Buffer.alloc(0);

/** Registers nothing. An event that this version of the software does not know is shown too. */
export class RecordSchemas {
  readonly #registry: WriterSchemas;
  /** the schema, or why there is none */
  readonly #known = new Map<number, avro.Type | string>();

  /** `registryUrl` is that of Confluent's interface. */
  constructor(registryUrl: string) {
    this.#registry = new WriterSchemas(registryUrl, SHOWN_OPTIONS);
  }

  /** Whether the schema of this value, if it has one, was requested. */
  knows(value: Buffer | null): boolean {
    const id = schemaIdOf(value ?? NO_VALUE);
    return id === undefined || this.#known.has(id);
  }

  /** Asks for the schema of this value. Throws a fault with retry while the registry is away. */
  async learn(value: Buffer | null): Promise<void> {
    const id = schemaIdOf(value ?? NO_VALUE);
    if (id === undefined) return;
    try {
      this.#known.set(id, await this.#registry.read(id));
    } catch (error) {
      if (error instanceof Fault && error.retry) throw error;
      this.#known.set(id, messageOf(error));
    }
  }

  /** After `learn`. */
  show(value: Buffer | null): Shown {
    const none = { type: null, schema_id: null };
    if (value === null) return { ...none, unreadable: 'the record has no value' };
    const id = schemaIdOf(value);
    if (id === undefined)
      return { ...none, unreadable: 'the value does not begin as Avro with a schema id' };
    const schema = this.#known.get(id) ?? `schema ${id} was never looked up`;
    if (typeof schema === 'string') return { type: null, schema_id: id, unreadable: schema };
    const { name = 'nameless' } = schema;
    const type = name.slice(name.lastIndexOf('.') + 1);
    try {
      const body: unknown = schema.fromBuffer(value.subarray(HEADER_BYTES));
      return { type, schema_id: id, value: body };
    } catch (error) {
      const unreadable = `the bytes do not fit schema ${id} (${type}): ${messageOf(error)}`;
      return { type, schema_id: id, unreadable };
    }
  }
}
