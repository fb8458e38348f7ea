/** How the values of a log are shown: each by the schema it was written with, asked for once. Nothing is registered, and an event nobody knows any more is shown too. */
import { Fault, messageOf } from '../../runtime/process/errors.ts';
import { jsonOf } from './avro-text.ts';

/** A zero byte and the schema's id in four. */
const HEADER_BYTES = 5;
const ANSWER_MS = 5_000;

interface Known {
  /** the record's name without its namespace */
  readonly type: string;
  readonly show: (body: Buffer, from: number) => string;
}

/** A value as it is shown, or why it cannot be. */
export type Shown =
  | { readonly type: string; readonly schema_id: number; readonly json: string }
  | {
      readonly type: string | null;
      readonly schema_id: number | null;
      readonly unreadable: string;
    };

export class RecordSchemas {
  readonly #registryUrl: string;
  readonly #known = new Map<number, Known | { readonly unreadable: string }>();

  /** `registryUrl` is that of Confluent's interface. */
  constructor(registryUrl: string) {
    this.#registryUrl = registryUrl;
  }

  /** Whether the schema of this value, if it has one, was asked for. */
  knows(value: Buffer | null): boolean {
    const id = schemaIdOf(value);
    return id === undefined || this.#known.has(id);
  }

  /** Asks for the schema of this value where it is not known yet. Throws a fault with retry while the registry is away. */
  async learn(value: Buffer | null): Promise<void> {
    const id = schemaIdOf(value);
    if (id !== undefined && !this.#known.has(id)) this.#known.set(id, await this.#ask(id));
  }

  /** The type of the event, as far as it has one. */
  typeOf(value: Buffer | null): string | undefined {
    const known = this.#known.get(schemaIdOf(value) ?? -1);
    return known === undefined || 'unreadable' in known ? undefined : known.type;
  }

  /** After `learn`. A record without a value is `null` of no type. */
  show(value: Buffer | null): Shown {
    if (value === null)
      return { type: null, schema_id: null, unreadable: 'the record has no value' };
    const id = schemaIdOf(value);
    if (id === undefined)
      return {
        type: null,
        schema_id: null,
        unreadable: 'the value does not begin as Avro with a schema id',
      };
    const known = this.#known.get(id);
    if (known === undefined)
      return { type: null, schema_id: id, unreadable: `schema ${id} was never looked up` };
    if ('unreadable' in known) return { type: null, schema_id: id, unreadable: known.unreadable };
    try {
      return { type: known.type, schema_id: id, json: known.show(value, HEADER_BYTES) };
    } catch (error) {
      return {
        type: known.type,
        schema_id: id,
        unreadable: `the bytes do not fit schema ${id} (${known.type}): ${messageOf(error)}`,
      };
    }
  }

  async #ask(id: number): Promise<Known | { readonly unreadable: string }> {
    const url = `${this.#registryUrl}/schemas/ids/${id}`;
    const away = (why: string, cause?: unknown): Fault =>
      new Fault(
        'schema_registry',
        `schema ${id} was not read from ${this.#registryUrl}: ${why}; start the schema registry or correct APP_REGISTRY_URL`,
        {
          retry: true,
          cause,
        },
      );
    const answer = await fetch(url, { signal: AbortSignal.timeout(ANSWER_MS) }).catch(
      (cause: unknown) => {
        throw away(messageOf(cause), cause);
      },
    );
    const text = await answer.text().catch((cause: unknown) => {
      throw away(messageOf(cause), cause);
    });
    if (answer.status === 404) return { unreadable: `the registry has no schema ${id}` };
    if (!answer.ok) throw away(`it answered ${answer.status}`);
    return parsed(id, text);
  }
}

function parsed(id: number, answer: string): Known | { readonly unreadable: string } {
  try {
    const { schema, schemaType }: { readonly schema: string; readonly schemaType?: string } =
      JSON.parse(answer);
    if (schemaType !== undefined && schemaType !== 'AVRO')
      return { unreadable: `schema ${id} is ${schemaType}, not Avro` };
    const avro: unknown = JSON.parse(schema);
    const name =
      typeof avro === 'object' && avro !== null && 'name' in avro && typeof avro.name === 'string'
        ? avro.name
        : 'nameless';
    return { type: name.slice(name.lastIndexOf('.') + 1), show: jsonOf(avro) };
  } catch (error) {
    return { unreadable: `schema ${id} cannot be used: ${messageOf(error)}` };
  }
}

function schemaIdOf(value: Buffer | null): number | undefined {
  return value !== null && value.length >= HEADER_BYTES && value[0] === 0
    ? value.readUInt32BE(1)
    : undefined;
}
