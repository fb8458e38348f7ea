/**
 * Definitions of answers, in TypeBox. A definition is the one source of the type of an answer
 * (`Shape`), of its schema and example in the OpenAPI document (`document.ts`) and of the function
 * that writes it from a row (`services/runtime/postgres/row-json.ts`). Besides JSON Schema it has
 * `$id`, the name of a schema that the document lists once; `said`, a description for one use of
 * a schema; `is`, of a field of a body, which follows its name and "is" in the refusal of any other
 * value; and `example`. Browsers read this file too: it knows no Node.
 */
import { Type, type Static, type TObject, type TProperties, type TSchema } from 'typebox';

/** The type of an answer; clients only read it. */
export type Shape<Schema extends TSchema> = Frozen<Static<Schema>>;

type Frozen<Value> = Value extends readonly (infer Item)[]
  ? readonly Frozen<Item>[]
  : Value extends object
    ? { readonly [Name in keyof Value]: Frozen<Value[Name]> }
    : Value;

export type Json =
  boolean | number | string | null | readonly Json[] | { readonly [name: string]: Json };

/** A schema with the keywords that definitions use. */
export interface Defined extends TSchema {
  readonly $id?: string;
  readonly said?: string;
  readonly is?: string;
  readonly example?: Json;
  readonly type?: string;
  readonly format?: string;
  readonly pattern?: string;
  readonly const?: Json;
  readonly items?: TSchema;
  readonly properties?: Readonly<Record<string, TSchema>>;
  readonly required?: readonly string[];
  readonly oneOf?: readonly TSchema[];
  readonly anyOf?: readonly TSchema[];
}

/** A schema as it is used in one place. */
export function field<Schema extends TSchema>(
  schema: Schema,
  example: Json,
  said?: string,
): Schema {
  return { ...schema, example, ...(said !== undefined && { said }) };
}

/** An object with these fields, all of them required, and no others. */
export function record<Fields extends TProperties>(
  $id: string,
  fields: Fields,
  description?: string,
): TObject<Fields> {
  const options = { $id, ...(description !== undefined && { description }) };
  return Type.Object(fields, { ...options, additionalProperties: false });
}

/** The `example` is also that of the field, null as well. */
export function nullable<Schema extends TSchema>(schema: Schema, example: Json, said?: string) {
  const options = { example, ...(said !== undefined && { description: said }) };
  return Type.Unsafe<Static<Schema> | null>({ oneOf: [schema, Type.Null()], ...options });
}

export function word<const Words extends readonly string[]>(words: Words, options: object = {}) {
  return Type.Unsafe<Words[number]>({ type: 'string', enum: words, example: words[0], ...options });
}

/** An example of the whole, made of those of its required fields. */
export function exampleOf(schema: TSchema): Json {
  const { example, const: constant, type, items, properties, required = [] }: Defined = schema;
  if (example !== undefined) return example;
  if (constant !== undefined) return constant;
  if (type === 'null') return null;
  if (items !== undefined) return [exampleOf(items)];
  if (properties === undefined) throw new Error(`no example: ${JSON.stringify(schema)}`);
  return Object.fromEntries(required.map((name) => [name, exampleOf(properties[name] ?? {})]));
}
