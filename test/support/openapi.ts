/** The OpenAPI 3.1 documents of the gateways, typed as far as tests read them. */
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';

export type Json =
  boolean | number | string | null | readonly Json[] | { readonly [name: string]: Json };

export interface Reference {
  readonly $ref: string;
}

/** JSON Schema 2020-12. */
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

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query';
  readonly required: boolean;
  readonly description: string;
  readonly schema: Schema;
  readonly example?: number | string;
}

export interface Header {
  readonly description: string;
  readonly required: boolean;
  readonly schema: Schema;
  readonly example?: Json;
}

export interface MediaType {
  readonly schema: Schema;
  readonly example?: Json;
  readonly examples?: Readonly<Record<string, { readonly summary?: string; readonly value: Json }>>;
}

export interface Response {
  readonly description: string;
  readonly headers?: Readonly<Record<string, Header | Reference>>;
  readonly content: Readonly<Record<string, MediaType>>;
}

export interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description?: string;
  readonly parameters: readonly Parameter[];
  /** instead of the document's */
  readonly security?: readonly SecurityRequirement[];
  readonly responses: Readonly<Record<string, Response | Reference>>;
}

export interface PathItem {
  readonly get?: Operation;
  readonly post?: Operation;
}

export type Paths = Readonly<Record<string, PathItem>>;
/** Those of an interface that only answers questions. */
export type ReadOnlyPaths = Readonly<Record<string, { readonly get: Operation }>>;

/** The schemes that a request must satisfy, each with its scopes. */
export type SecurityRequirement = Readonly<Record<string, readonly string[]>>;

export interface SecurityScheme {
  readonly type: 'http';
  readonly scheme: 'bearer';
  readonly bearerFormat: string;
  readonly description: string;
}

export interface OpenApi<Served extends Paths = Paths> {
  readonly openapi: '3.1.0';
  readonly info: {
    readonly title: string;
    readonly version: string;
    readonly summary: string;
    readonly description: string;
  };
  readonly servers: readonly { readonly url: string; readonly description?: string }[];
  /** of every operation that does not say otherwise */
  readonly security: readonly SecurityRequirement[];
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Served;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly headers: Readonly<Record<string, Header>>;
    readonly responses: Readonly<Record<string, Response>>;
    readonly securitySchemes?: Readonly<Record<string, SecurityScheme>>;
  };
}

function documentOf<Served extends Paths>(api: string): OpenApi<Served> {
  const file = new URL(`../../schemas/${api}/openapi.yaml`, import.meta.url);
  return parse(readFileSync(file, 'utf8'));
}

export const EXPLORER_API = documentOf<ReadOnlyPaths>('explorer-api');
export const DEPOSIT_API = documentOf('deposit-api');

export function responseOf({ components }: OpenApi, used: Response | Reference): Response {
  return '$ref' in used ? meant(components.responses, used.$ref) : used;
}

export function headerOf({ components }: OpenApi, used: Header | Reference): Header {
  return '$ref' in used ? meant(components.headers, used.$ref) : used;
}

function meant<Of>(all: Readonly<Record<string, Of>>, ref: string): Of {
  const found = all[ref.slice(ref.lastIndexOf('/') + 1)];
  if (found === undefined) throw new Error(`the document has no ${ref}`);
  return found;
}

/** Whether the answer is of the page at `/`, which is for people and in no document. */
export function isPage(pathname: string, status: number, headers: Headers): boolean {
  const isHtml = headers.get('content-type')?.startsWith('text/html') === true;
  return /^\/+$/.test(pathname) && ([304, 405].includes(status) || (status === 200 && isHtml));
}
