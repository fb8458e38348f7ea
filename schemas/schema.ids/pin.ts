/**
 * A record of `schema.ids`: the schema that an id names in this log. It is JSON, because reading
 * Avro would need the registry that it protects against.
 */

export interface Pin {
  readonly id: number;
  /** of the schema registry */
  readonly subject: string;
  /** an Avro schema */
  readonly schema: string;
}

export function pinText({ id, subject, schema }: Pin): string {
  return JSON.stringify({ id, subject, schema });
}

/** Four bytes, with a sign at some registries. */
const ID_MAX = 2 ** 31 - 1;

/** Throws for any other text. */
export function parsePin(text: string): Pin {
  const { id, subject, schema }: Partial<Record<keyof Pin, unknown>> = JSON.parse(text);
  if (typeof id !== 'number' || typeof subject !== 'string' || typeof schema !== 'string')
    throw new Error('not the pin of a schema id');
  if (!Number.isInteger(id) || id < 1 || id > ID_MAX) throw new Error('not the id of a schema');
  return { id, subject, schema };
}
