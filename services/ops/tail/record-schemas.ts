/** The values of records as they are shown, each by the schema that it was written with. */
import type avro from 'avsc';
import { HEADER_BYTES, schemaIdOf, WriterSchemas } from '../../runtime/kafka/codec.ts';
import { Fault, messageOf } from '../../runtime/process/errors.ts';
import { SHOWN_OPTIONS } from './shown-types.ts';

/** A value as it is shown, or why it cannot be. */
export type Shown =
  | { readonly type: string; readonly schema_id: number; readonly value: unknown }
  | {
      readonly type: string | null;
      readonly schema_id: number | null;
      readonly unreadable: string;
    };

/** Registers nothing. An event that this version of the software does not know is shown too. */
export class RecordSchemas {
  readonly #registry: WriterSchemas;
  readonly #known = new Map<number, avro.Type | { readonly unreadable: string }>();

  /** `registryUrl` is that of Confluent's interface. */
  constructor(registryUrl: string) {
    this.#registry = new WriterSchemas(registryUrl, SHOWN_OPTIONS);
  }

  /** Whether the schema of this value, if it has one, was asked for. */
  knows(value: Buffer | null): boolean {
    const id = value === null ? undefined : schemaIdOf(value);
    return id === undefined || this.#known.has(id);
  }

  /** Asks for the schema of this value. Throws a fault with retry while the registry is away. */
  async learn(value: Buffer | null): Promise<void> {
    const id = value === null ? undefined : schemaIdOf(value);
    if (id === undefined) return;
    try {
      this.#known.set(id, await this.#registry.read(id));
    } catch (error) {
      if (error instanceof Fault && error.retry) throw error;
      this.#known.set(id, { unreadable: messageOf(error) });
    }
  }

  /** The type of the event, as far as it has one. */
  typeOf(value: Buffer | null): string | undefined {
    const known = this.#known.get((value === null ? undefined : schemaIdOf(value)) ?? -1);
    return known === undefined || 'unreadable' in known ? undefined : nameOf(known);
  }

  /** After `learn`. A record without a value is `null` of no type. */
  show(value: Buffer | null): Shown {
    const none = { type: null, schema_id: null };
    if (value === null) return { ...none, unreadable: 'the record has no value' };
    const id = schemaIdOf(value);
    if (id === undefined)
      return { ...none, unreadable: 'the value does not begin as Avro with a schema id' };
    const known = this.#known.get(id);
    if (known === undefined || 'unreadable' in known) {
      const unreadable = known?.unreadable ?? `schema ${id} was never looked up`;
      return { type: null, schema_id: id, unreadable };
    }
    const type = nameOf(known);
    try {
      const body: unknown = known.fromBuffer(value.subarray(HEADER_BYTES));
      return { type, schema_id: id, value: body };
    } catch (error) {
      const unreadable = `the bytes do not fit schema ${id} (${type}): ${messageOf(error)}`;
      return { type, schema_id: id, unreadable };
    }
  }
}

/** Without its namespace. */
function nameOf({ name = 'nameless' }: avro.Type): string {
  return name.slice(name.lastIndexOf('.') + 1);
}
