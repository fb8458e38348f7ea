/** OpenAPI 3.1 documents, made of definitions of operations. */
import type { TObject, TProperties, TSchema } from 'typebox';
import { exampleOf, type Defined, type Json } from './answer.ts';
import type { Parameter } from './parameters.ts';

/** JSON Schema 2020-12, as documents have it. */
export interface Schema {
  readonly $ref?: string;
  readonly title?: string;
  readonly description?: string;
  readonly type?: string;
  readonly format?: string;
  readonly pattern?: string;
  readonly const?: Json;
  readonly enum?: readonly string[];
  readonly default?: Json;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly maxItems?: number;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean;
  readonly oneOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
}

export interface Header {
  readonly description: string;
  readonly required: boolean;
  readonly schema: Schema;
  readonly example?: Json;
}

interface Examples {
  readonly example?: Json;
  readonly examples?: Readonly<Record<string, { readonly summary: string; readonly value: Json }>>;
}

/** Headers are named as the document's components. */
export interface Answer {
  readonly description: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly content: Readonly<Record<string, Examples & { readonly schema: TSchema }>>;
}

/** A route as it is defined; `path` is Express' template. */
export interface Operation<
  Parameters extends readonly Parameter[] = readonly Parameter[],
  Body extends TProperties = TProperties,
> {
  readonly path: string;
  /** default: post with a body, else get */
  readonly method?: 'get' | 'post';
  readonly operationId: string;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  readonly parameters: Parameters;
  /** a JSON object; undefined: a body is ignored */
  readonly body?: TObject<Body>;
  /** no token is needed, where the others need one */
  readonly is_open?: boolean;
  /** by status; a text names one of the document's answers */
  readonly answers: Readonly<Record<number, Answer | string>>;
}

export interface Api {
  readonly info: {
    readonly title: string;
    readonly version: string;
    readonly summary: string;
    readonly description: string;
  };
  readonly external_docs?: { readonly description: string; readonly url: string };
  readonly tags: Readonly<Record<string, string>>;
  readonly operations: readonly Operation[];
  readonly headers: Readonly<Record<string, Header>>;
  readonly answers: Readonly<Record<string, Answer>>;
  /** of every operation that is not open */
  readonly security: readonly SecurityRequirement[];
  readonly security_schemes?: Readonly<Record<string, SecurityScheme>>;
}

export interface Reference {
  readonly $ref: string;
}

export type SecurityRequirement = Readonly<Record<string, readonly string[]>>;

export interface SecurityScheme {
  readonly type: 'http';
  readonly scheme: 'bearer';
  readonly bearerFormat: string;
  readonly description: string;
}

export interface DocumentedParameter {
  readonly name: string;
  readonly in: 'path' | 'query';
  readonly required: boolean;
  readonly description: string;
  readonly schema: Schema;
  readonly example?: number | string;
}

export interface MediaType extends Examples {
  readonly schema: Schema;
}

export interface DocumentedAnswer {
  readonly description: string;
  readonly headers: Readonly<Record<string, Reference>>;
  readonly content: Readonly<Record<string, MediaType>>;
}

export interface DocumentedOperation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description?: string;
  readonly parameters: readonly DocumentedParameter[];
  readonly requestBody?: {
    readonly required: true;
    readonly content: Readonly<Record<string, MediaType>>;
  };
  readonly security?: readonly SecurityRequirement[];
  readonly responses: Readonly<Record<string, DocumentedAnswer | Reference>>;
}

export interface PathItem {
  readonly get?: DocumentedOperation;
  readonly post?: DocumentedOperation;
}

export interface OpenApi {
  readonly openapi: '3.1.0';
  readonly info: Api['info'];
  readonly servers: readonly { readonly url: string; readonly description: string }[];
  readonly externalDocs?: Api['external_docs'];
  readonly security: readonly SecurityRequirement[];
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, PathItem>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly headers: Readonly<Record<string, Header>>;
    readonly responses: Readonly<Record<string, DocumentedAnswer>>;
    readonly securitySchemes?: Readonly<Record<string, SecurityScheme>>;
  };
}

export function openApi(api: Api): OpenApi {
  const schemas: Record<string, Schema> = {};
  const paths: Record<string, Record<string, DocumentedOperation>> = {};
  for (const operation of api.operations) {
    const path = operation.path.replaceAll(/:(\w+)/g, '{$1}');
    const { method = operation.body === undefined ? 'get' : 'post' } = operation;
    (paths[path] ??= {})[method] = {
      ...operationOf(operation, schemas),
      ...(operation.is_open === true && api.security.length > 0 && { security: [] }),
    };
  }
  const responses = mapped(api.answers, (answer) => answerOf(answer, schemas));
  return {
    openapi: '3.1.0',
    info: api.info,
    servers: [{ url: '/', description: 'the server of this document' }],
    ...(api.external_docs && { externalDocs: api.external_docs }),
    security: api.security,
    tags: Object.entries(api.tags).map(([name, description]) => ({ name, description })),
    paths,
    components: {
      schemas,
      headers: api.headers,
      responses,
      ...(api.security_schemes && { securitySchemes: api.security_schemes }),
    },
  };
}

function operationOf(
  { operationId, tag, summary, description, parameters, body, answers }: Operation,
  schemas: Record<string, Schema>,
): DocumentedOperation {
  return {
    operationId,
    tags: [tag],
    summary,
    ...(description !== undefined && { description }),
    parameters: parameters.map(({ name, in: place, missing, example, ...parameter }) => ({
      name,
      in: place,
      required: missing !== undefined,
      description: parameter.description,
      schema: schemaOf(parameter.schema, schemas),
      ...(example !== undefined && { example }),
    })),
    ...(body && { requestBody: { required: true, content: contentOf(json(body), schemas) } }),
    responses: mapped(answers, (answer) =>
      typeof answer === 'string'
        ? { $ref: `#/components/responses/${answer}` }
        : answerOf(answer, schemas),
    ),
  };
}

function answerOf(
  { description, headers, content }: Answer,
  schemas: Record<string, Schema>,
): DocumentedAnswer {
  return {
    description,
    headers: mapped(headers, (header) => ({ $ref: `#/components/headers/${header}` })),
    content: contentOf(content, schemas),
  };
}

function contentOf(
  content: Answer['content'],
  schemas: Record<string, Schema>,
): DocumentedAnswer['content'] {
  return mapped(content, ({ schema, ...examples }) => ({
    schema: schemaOf(schema, schemas),
    ...examples,
  }));
}

/** The schema, with a reference for each that has a name; those are put into `schemas`. */
function schemaOf(defined: TSchema, schemas: Record<string, Schema>): Schema {
  const { $id, said, is: _is, example: _, items, properties, oneOf, ...own }: Defined = defined;
  const plain: Schema = {
    ...own,
    ...(items && { items: schemaOf(items, schemas) }),
    ...(properties && { properties: mapped(properties, (each) => schemaOf(each, schemas)) }),
    ...(oneOf && { oneOf: oneOf.map((each) => schemaOf(each, schemas)) }),
  };
  const description = said === undefined ? {} : { description: said };
  if ($id === undefined) return { ...plain, ...description };
  schemas[$id] = plain;
  return { $ref: `#/components/schemas/${$id}`, ...description };
}

function mapped<Value, Mapped>(
  all: Readonly<Record<string, Value>>,
  map: (value: Value) => Mapped,
): Record<string, Mapped> {
  return Object.fromEntries(Object.entries(all).map(([name, value]) => [name, map(value)]));
}

/** JSON of this schema, with an example. */
export function json(
  schema: TSchema,
  examples: Examples = { example: exampleOf(schema) },
): Answer['content'] {
  return { 'application/json': { schema, ...examples } };
}
