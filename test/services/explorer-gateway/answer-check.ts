/**
 * Checks every response in the tests against the OpenAPI document: status, type, headers and body.
 */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { EXPLORER_API } from '../../support/openapi.ts';
import {
  headerOf,
  isPage,
  responseOf,
  type Operation,
  type Response as Documented,
  type Schema,
} from '../../support/openapi.ts';

export interface Answered {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
}

const ajv = new Ajv2020({ strict: true, allErrors: true });
ajv.addFormat('date-time', (text) => !Number.isNaN(Date.parse(text)));
ajv.addKeyword('components').addSchema({ $id: 'explorer', components: EXPLORER_API.components });

const compiled = new Map<string, ValidateFunction>();

/** The mismatch of `value` with a schema of the document; undefined: it fits. */
export function misfit(schema: Schema, value: unknown): string | undefined {
  const text = JSON.stringify(schema).replaceAll('"$ref":"#/', '"$ref":"explorer#/');
  const known = compiled.get(text);
  const validate = known ?? ajv.compile(JSON.parse(text));
  compiled.set(text, validate);
  return validate(value) ? undefined : ajv.errorsText(validate.errors);
}

const { paths, components } = EXPLORER_API;
const templates = Object.entries(paths).map(([template, { get }]) => ({
  pattern: new RegExp(`^${template.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}/?$`),
  operation: get,
}));
const OWN_HEADERS = ['etag', 'link', 'retry-after', 'allow', 'x-clt-to-height', 'x-clt-to-hash'];

/** Throws when the document does not foresee this answer. `path` is the address after the host. */
export function checkAnswer(method: string, path: string, answer: Answered): void {
  const matters = [...mattersOf(method, new URL(`http://explorer${path}`).pathname, answer)];
  if (matters.length === 0) return;
  throw new Error(
    `${method} ${path.slice(0, 200)}: ${answer.status} ${answer.text.slice(0, 500)}\n  ${matters.join('\n  ')}`,
  );
}

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
    if (headers.has(name) && !Object.hasOwn(response.headers ?? {}, name))
      yield `the document knows no header ${name} here`;
  }
  for (const [name, used] of Object.entries(response.headers ?? {})) {
    const { required, schema } = headerOf(EXPLORER_API, used);
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
  if (media === 'application/x-ndjson') return yield* misfitLines(content.schema, text);
  if (media === 'text/csv') yield* misfitRecords(text);
  const body: unknown = media === 'application/json' ? JSON.parse(text) : text;
  const matter = misfit(content.schema, body);
  if (matter !== undefined) yield matter;
  if (isFullPage(body) !== headers.has('link'))
    yield 'a full page has a Link header, and only a full page';
}

/** NDJSON: the schema is that of a line. */
function* misfitLines(schema: Schema, text: string): Iterable<string> {
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

function documented(method: string, pathname: string, status: number): Documented | undefined {
  const { InvalidRequest, NotFound, MethodNotAllowed, RateLimited, TooLarge } =
    components.responses;
  const operation = templates.find(({ pattern }) => pattern.test(pathname))?.operation;
  if (operation === undefined)
    return { 400: InvalidRequest, 404: NotFound, 413: TooLarge, 429: RateLimited }[status];
  if (method !== 'GET' && method !== 'HEAD' && status === 405) return MethodNotAllowed;
  return ofOperation(operation, status);
}

function ofOperation({ responses }: Operation, status: number): Documented | undefined {
  const used = responses[String(status)];
  return used === undefined ? undefined : responseOf(EXPLORER_API, used);
}

function isFullPage(body: unknown): boolean {
  if (typeof body !== 'object' || body === null || !('paging' in body)) return false;
  const { paging } = body;
  return (
    typeof paging === 'object' &&
    paging !== null &&
    'has_more' in paging &&
    paging.has_more === true
  );
}
