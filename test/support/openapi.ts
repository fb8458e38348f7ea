/** Checks answers of the gateways against their OpenAPI documents: status, type, headers, body. */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { DEPOSIT_API } from '../../schemas/deposit-api/document.ts';
import { EXPLORER_API } from '../../schemas/explorer-api/document.ts';
import { OPERATIONS_API } from '../../schemas/operations-api/document.ts';
import { TREASURY_API } from '../../schemas/treasury-api/document.ts';
import type {
  DocumentedAnswer,
  DocumentedOperation,
  DocumentedParameter,
  Header,
  OpenApi,
  Reference,
  Schema,
} from '../../schemas/http-api/document.ts';

export interface Answered {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
}

export interface DocumentCheck {
  /** The mismatch of `value` with a schema of the document; undefined: it fits. */
  readonly misfit: (schema: Schema, value: unknown) => string | undefined;
  /** Throws when the document does not foresee this answer. `path`: the address after the host. */
  readonly checkAnswer: (method: string, path: string, answer: Answered) => void;
}

const OWN_HEADERS = [
  'etag',
  'link',
  'retry-after',
  'allow',
  'www-authenticate',
  'x-clt-to-height',
  'x-clt-to-hash',
];

/** `elsewhere`: the answers to what is no operation, by status. */
function documentCheck(api: OpenApi, elsewhere: Readonly<Record<number, string>>): DocumentCheck {
  const ajv = new Ajv2020({ strict: true, allErrors: true });
  ajv.addFormat('date-time', (text) => !Number.isNaN(Date.parse(text)));
  ajv.addKeyword('components').addSchema({ $id: 'api', components: api.components });
  const compiled = new Map<string, ValidateFunction>();
  const misfit = (schema: Schema, value: unknown): string | undefined => {
    const text = JSON.stringify(schema).replaceAll('"$ref":"#/', '"$ref":"api#/');
    const validate = compiled.get(text) ?? ajv.compile(JSON.parse(text));
    compiled.set(text, validate);
    return validate(value) ? undefined : ajv.errorsText(validate.errors);
  };

  const templates = Object.entries(api.paths).map(([template, item]) => ({
    pattern: new RegExp(`^${template.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}/?$`),
    item,
  }));
  const documented = (
    method: string,
    pathname: string,
    status: number,
  ): DocumentedAnswer | undefined => {
    const item = templates.find(({ pattern }) => pattern.test(pathname))?.item;
    const own = method === 'POST' ? item?.post : undefined;
    const operation = ['GET', 'HEAD'].includes(method) ? item?.get : own;
    const used = operation?.responses[status];
    if (used !== undefined) return responseOf(api, used);
    if (operation !== undefined) return undefined;
    const isRefused = item !== undefined && status === 405;
    return api.components.responses[isRefused ? 'MethodNotAllowed' : (elsewhere[status] ?? '')];
  };

  function* mattersOf(
    method: string,
    pathname: string,
    { status, text, headers }: Answered,
  ): Iterable<string> {
    if (method === 'OPTIONS' && status === 204) return;
    if (isPage(pathname, status, headers)) return;
    const response = documented(method, pathname, status);
    if (response === undefined) return yield 'the document knows no such status here';
    for (const name of OWN_HEADERS) {
      if (headers.has(name) && !Object.hasOwn(response.headers, name))
        yield `the document knows no header ${name} here`;
    }
    for (const [name, used] of Object.entries(response.headers)) {
      const { required, schema } = headerOf(api, used);
      const value = headers.get(name);
      const matter = value === null ? (required ? 'is missing' : undefined) : misfit(schema, value);
      if (matter !== undefined) yield `header ${name}: ${matter}`;
    }
    if (status >= 400 && headers.get('cache-control') !== 'no-store')
      yield 'an error is not for caches';
    if (status === 304) return text === '' ? undefined : yield 'a 304 has no body';
    const media = headers.get('content-type')?.split(';')[0] ?? '';
    const content = response.content[media];
    if (content === undefined) return yield `the document knows no type ${media} here`;
    if (method === 'HEAD') return;
    if (media === 'application/x-ndjson') return yield* misfitLines(misfit, content.schema, text);
    if (media === 'text/csv') yield* misfitRecords(text);
    const body: unknown = media === 'application/json' ? JSON.parse(text) : text;
    const matter = misfit(content.schema, body);
    if (matter !== undefined) yield matter;
    if (isFullPage(body) !== headers.has('link'))
      yield 'a full page has a Link header, and only a full page';
  }

  const checkAnswer: DocumentCheck['checkAnswer'] = (method, path, answer) => {
    const matters = [...mattersOf(method, new URL(`http://server${path}`).pathname, answer)];
    if (matters.length === 0) return;
    throw new Error(
      `${method} ${path.slice(0, 200)}: ${answer.status} ${answer.text.slice(0, 500)}\n  ${matters.join('\n  ')}`,
    );
  };
  return { misfit, checkAnswer };
}

/** NDJSON: the schema is that of a line. */
function* misfitLines(
  misfit: DocumentCheck['misfit'],
  schema: Schema,
  text: string,
): Iterable<string> {
  const lines = text.split('\n');
  if (lines.pop() !== '') yield 'the last line does not end';
  for (const [at, line] of lines.entries()) {
    const matter = misfit(schema, JSON.parse(line));
    if (matter !== undefined) yield `line ${at + 1}: ${matter}`;
  }
}

/** CSV (RFC 4180): a record of names, then records of as many fields. */
function* misfitRecords(text: string): Iterable<string> {
  const quoted = text.replaceAll(/"(?:[^"]|"")*"/g, 'quoted');
  if (!/\r?\n$/.test(quoted)) yield 'the last record does not end';
  const [names = '', ...records] = quoted.trimEnd().split(/\r?\n/);
  if (!/^\w+(,\w+)+$/.test(names)) yield 'the first record is not one of names';
  for (const [at, record] of records.entries()) {
    if (record.split(',').length !== names.split(',').length)
      yield `record ${at + 1} has another number of fields than there are names`;
    if (record.includes('"')) yield `record ${at + 1} has a quote outside of a quoted field`;
  }
}

function isFullPage(body: unknown): boolean {
  const { paging } = Object(body);
  return Object(paging).has_more === true;
}

/** Whether the answer is of the page at `/`, which is for people and in no document. */
function isPage(pathname: string, status: number, headers: Headers): boolean {
  const isHtml = headers.get('content-type')?.startsWith('text/html') === true;
  return /^\/+$/.test(pathname) && ([304, 405].includes(status) || (status === 200 && isHtml));
}

export function responseOf(
  { components }: OpenApi,
  used: DocumentedAnswer | Reference,
): DocumentedAnswer {
  return '$ref' in used ? meant(components.responses, used.$ref) : used;
}

export function headerOf({ components }: OpenApi, { $ref }: Reference): Header {
  return meant(components.headers, $ref);
}

function meant<Component>(all: Readonly<Record<string, Component>>, ref: string): Component {
  const found = all[ref.slice(ref.lastIndexOf('/') + 1)];
  if (found === undefined) throw new Error(`the document has no ${ref}`);
  return found;
}

export interface Gettable {
  /** with an example for each part of the path */
  readonly path: string;
  /** an example for each parameter that has to be given */
  readonly query: string;
  readonly parameters: readonly DocumentedParameter[];
}

/** The GET operations of a document, with parameters that each of them accepts. */
export function gettable({ paths }: OpenApi): readonly Gettable[] {
  return Object.entries(paths).flatMap(([template, { get }]) =>
    get === undefined ? [] : [exampleOf(template, get)],
  );
}

function exampleOf(template: string, { parameters }: DocumentedOperation): Gettable {
  const path = template.replaceAll(/\{(\w+)\}/g, (_, name) =>
    String(parameters.find((each) => each.name === name)?.example),
  );
  const needed = parameters.filter(({ in: where, required }) => where === 'query' && required);
  const query = needed.map(({ name, example }) => `${name}=${example}`).join('&');
  return { path, query, parameters };
}

export const EXPLORER = documentCheck(EXPLORER_API, {
  400: 'InvalidRequest',
  404: 'NotFound',
  413: 'TooLarge',
  429: 'RateLimited',
});
export const DEPOSITS = documentCheck(DEPOSIT_API, {
  400: 'Malformed',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  413: 'TooLarge',
  429: 'RateLimited',
});
/** Services whose errors are `{code, message}`. */
const PLAIN = { 400: 'Invalid', 404: 'NotFound', 413: 'TooLarge', 429: 'RateLimited' };
export const OPERATIONS = documentCheck(OPERATIONS_API, { ...PLAIN, 403: 'ForeignHost' });
export const TREASURY = documentCheck(TREASURY_API, PLAIN);
