/**
 * Checks every response in the tests against the OpenAPI document of deposits: status, type,
 * headers and body.
 */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { DEPOSIT_API } from '../../support/openapi.ts';
import {
  headerOf,
  isPage,
  responseOf,
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
ajv.addKeyword('components').addSchema({ $id: 'deposits', components: DEPOSIT_API.components });

const compiled = new Map<string, ValidateFunction>();

/** The mismatch of `value` with a schema of the document; undefined: it fits. */
export function misfit(schema: Schema, value: unknown): string | undefined {
  const text = JSON.stringify(schema).replaceAll('"$ref":"#/', '"$ref":"deposits#/');
  const known = compiled.get(text);
  const validate = known ?? ajv.compile(JSON.parse(text));
  compiled.set(text, validate);
  return validate(value) ? undefined : ajv.errorsText(validate.errors);
}

const templates = Object.entries(DEPOSIT_API.paths).map(([template, item]) => ({
  pattern: new RegExp(`^${template.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}/?$`),
  item,
}));

/** Throws when the document does not foresee this answer. `path` is the address after the host. */
export function checkAnswer(method: string, path: string, answer: Answered): void {
  const matters = [...mattersOf(method, new URL(`http://deposits${path}`).pathname, answer)];
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
  if (isPage(pathname, status, headers)) return;
  const response = documented(method, pathname, status);
  if (response === undefined) return yield 'the document knows no such status here';
  for (const [name, used] of Object.entries(response.headers ?? {})) {
    const { required, schema } = headerOf(DEPOSIT_API, used);
    const value = headers.get(name);
    const matter = value === null ? (required ? 'is missing' : undefined) : misfit(schema, value);
    if (matter !== undefined) yield `header ${name}: ${matter}`;
  }
  for (const name of ['retry-after', 'allow', 'www-authenticate', 'etag']) {
    if (headers.has(name) && !Object.hasOwn(response.headers ?? {}, name))
      yield `the document knows no header ${name} here`;
  }
  if (status === 304) return text === '' ? undefined : yield 'a 304 has no body';
  const media = headers.get('content-type')?.split(';')[0] ?? '';
  const content = response.content[media];
  if (content === undefined) return yield `the document knows no type ${media} here`;
  if (method === 'HEAD') return;
  const matter = misfit(content.schema, media === 'application/json' ? JSON.parse(text) : text);
  if (matter !== undefined) yield matter;
}

function documented(method: string, pathname: string, status: number): Documented | undefined {
  const { components } = DEPOSIT_API;
  const item = templates.find(({ pattern }) => pattern.test(pathname))?.item;
  const operation =
    method === 'POST' ? item?.post : ['GET', 'HEAD'].includes(method) ? item?.get : undefined;
  const used = operation?.responses[String(status)];
  if (used !== undefined) return responseOf(DEPOSIT_API, used);
  const { Malformed, Unauthorized, Forbidden, NotFound, MethodNotAllowed, RateLimited } =
    components.responses;
  if (operation === undefined && item !== undefined && status === 405) return MethodNotAllowed;
  return operation === undefined
    ? { 400: Malformed, 401: Unauthorized, 403: Forbidden, 404: NotFound, 429: RateLimited }[status]
    : undefined;
}
