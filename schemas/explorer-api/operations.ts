/** How the paths are said: one function a kind of question, with the errors that it can meet. */
import { CURSOR, LIMIT_DEFAULT, LIMIT_MAX, PARAMETER_CHARACTERS_MAX } from './bounds.ts';
import {
  schema,
  type Header,
  type Json,
  type MediaType,
  type Operation,
  type Parameter,
  type Reference,
  type Response,
  type Schema,
} from '../openapi.ts';

export const HEADERS: Readonly<Record<string, Header>> = {
  RequestId: {
    description: 'Names this request in our log: tell it when something is wrong.',
    required: true,
    schema: { type: 'string', minLength: 1 },
    example: '6f1d2c3b4a59-1',
  },
  AnyOrigin: {
    description: 'Any web page may read this.',
    required: true,
    schema: { type: 'string', const: '*' },
    example: '*',
  },
  Link: {
    description:
      'The page below this one, as `<path?query>; rel="next"`, with a cursor. It is there exactly when the page is full.',
    required: false,
    schema: { type: 'string', pattern: '^<[^<> ]+>; rel="next"$' },
    example: '</api/v1/blocks?limit=2&cursor=AAAAAAAABLAKqwxG>; rel="next"',
  },
  ToHeight: {
    description:
      'The height of the last block that the answer covers; absent while no block is indexed.',
    required: false,
    schema: { type: 'string', pattern: '^[0-9]+$' },
    example: '1200',
  },
  ToHash: {
    description:
      'The hash of that block: where another hash stands at this height later, the chain was reorganised since.',
    required: false,
    schema: { type: 'string', pattern: '^0x[0-9a-f]{64}$' },
    example: '0x5b1f0d6ac4f94b4e8a5c20a3b5c0a3cf7f2f2c6e9d01b34a6d1b7c3e8f9a0b1c',
  },
  RetryAfter: {
    description: 'After how many seconds to ask again.',
    required: true,
    schema: { type: 'string', pattern: '^[1-9][0-9]*$' },
    example: '1',
  },
  Allow: {
    description: 'The methods that the path answers.',
    required: true,
    schema: { type: 'string', const: 'GET, HEAD' },
    example: 'GET, HEAD',
  },
};

const ALWAYS = {
  'x-request-id': header('RequestId'),
  'access-control-allow-origin': header('AnyOrigin'),
} as const;

function header(name: string): Reference {
  return { $ref: `#/components/headers/${name}` };
}

function errorResponse(
  description: string,
  code: string,
  message: string,
  more: Readonly<Record<string, Reference>> = {},
): Response {
  return {
    description,
    headers: { ...ALWAYS, ...more },
    content: { 'application/json': { schema: schema('Error'), example: { code, message } } },
  };
}

/** Keyed by name; the paths refer to them. */
export const ERRORS = {
  InvalidRequest: errorResponse(
    'A parameter is missing, malformed, out of range, empty or repeated.',
    'invalid_request',
    `limit must be a decimal integer from 1 to ${LIMIT_MAX}`,
  ),
  NotFound: errorResponse(
    'There is no such thing, or nothing at this path.',
    'not_found',
    'no such block is indexed',
  ),
  MethodNotAllowed: errorResponse(
    'Only GET and HEAD are answered.',
    'invalid_request',
    'this path answers GET, HEAD only',
    {
      allow: header('Allow'),
    },
  ),
  TooLarge: errorResponse(
    'The request has a body, and a large one.',
    'invalid_request',
    'the body is too large',
  ),
  RateLimited: errorResponse(
    'Too many requests from this client.',
    'rate_limited',
    'too many requests: try again in 1 s',
    {
      'retry-after': header('RetryAfter'),
    },
  ),
  InternalError: errorResponse(
    'Something is wrong on our side.',
    'internal_error',
    'something is wrong on our side',
  ),
  StorageError: errorResponse(
    'The index cannot be read at the moment, or the query took too long.',
    'storage_error',
    'the index cannot be read at the moment: try again shortly',
  ),
  NotReady: errorResponse(
    'The index cannot be read, or is too far behind the node.',
    'storage_error',
    'index: 21 blocks behind the node, more than 20: see /ready of chain-ingester and projector',
  ),
} as const satisfies Readonly<Record<string, Response>>;

type ErrorName = keyof typeof ERRORS;

const STATUS_OF: Readonly<Record<ErrorName, string>> = {
  InvalidRequest: '400',
  NotFound: '404',
  MethodNotAllowed: '405',
  TooLarge: '413',
  RateLimited: '429',
  InternalError: '500',
  StorageError: '503',
  NotReady: '503',
};

const EVERYWHERE: readonly ErrorName[] = ['InvalidRequest', 'TooLarge', 'InternalError'];

export interface Described {
  readonly id: string;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  readonly parameters?: readonly Parameter[];
  /** what the answer is */
  readonly answer: string;
  readonly schema: Schema;
  readonly example?: Json;
  readonly examples?: MediaType['examples'];
  /** JSON when not given */
  readonly media?: string;
  readonly headers?: Readonly<Record<string, Reference>>;
  /** besides those that every path can meet */
  readonly errors?: readonly ErrorName[];
}

/** A path that answers GET. */
export function get(described: Described): { readonly get: Operation } {
  const {
    id,
    tag,
    summary,
    description,
    parameters = [],
    answer,
    example,
    examples,
    media = 'application/json',
    headers = {},
  } = described;
  const errors = [...EVERYWHERE, ...(described.errors ?? [])].toSorted(
    (a, b) => Number(STATUS_OF[a]) - Number(STATUS_OF[b]),
  );
  const content: MediaType = {
    schema: described.schema,
    ...(example === undefined ? {} : { example }),
    ...(examples === undefined ? {} : { examples }),
  };
  return {
    get: {
      operationId: id,
      tags: [tag],
      summary,
      ...(description === undefined ? {} : { description }),
      parameters,
      responses: {
        '200': {
          description: answer,
          headers: { ...ALWAYS, ...headers },
          content: { [media]: content },
        },
        ...Object.fromEntries(
          errors.map((name) => [STATUS_OF[name], { $ref: `#/components/responses/${name}` }]),
        ),
      },
    },
  };
}

/** A question that the index answers. */
export function fromIndex(described: Described): { readonly get: Operation } {
  return get({
    ...described,
    errors: ['RateLimited', 'StorageError', ...(described.errors ?? [])],
  });
}

/** One thing by its name. */
export function detail(described: Described): { readonly get: Operation } {
  return fromIndex({ ...described, errors: ['NotFound'] });
}

/** A list in pages; `filters` come besides limit, offset and cursor. */
export function list({
  filters = [],
  ...described
}: Omit<Described, 'parameters'> & { readonly filters?: readonly Parameter[] }): {
  readonly get: Operation;
} {
  return fromIndex({
    ...described,
    parameters: [...filters, ...PAGING],
    headers: { link: header('Link') },
  });
}

/** All of something in one answer that is written while it is read. `lines` is the schema of a line of NDJSON; without it the answer is CSV. */
export function exported({
  lines,
  ...described
}: Omit<Described, 'schema' | 'media' | 'headers'> & { readonly lines?: Schema }): {
  readonly get: Operation;
} {
  const [media, schemaOfIt] =
    lines === undefined ? ['text/csv', { type: 'string' }] : ['application/x-ndjson', lines];
  const headers = { 'x-clt-to-height': header('ToHeight'), 'x-clt-to-hash': header('ToHash') };
  return fromIndex({ ...described, media, schema: schemaOfIt, headers, errors: ['NotFound'] });
}

export function query(
  name: string,
  description: string,
  inner: Schema,
  example?: number | string,
): Parameter {
  return {
    name,
    in: 'query',
    required: false,
    description,
    schema: inner,
    ...(example === undefined ? {} : { example }),
  };
}

export function path(name: string, description: string, inner: Schema, example: string): Parameter {
  return { name, in: 'path', required: true, description, schema: inner, example };
}

/** Text of a parameter that is given. */
export const SOME_TEXT: Schema = {
  type: 'string',
  minLength: 1,
  maxLength: PARAMETER_CHARACTERS_MAX,
};
export const SOME_ADDRESS: Schema = { type: 'string', pattern: '^(0[xX])?[0-9a-fA-F]{40}$' };
export const SOME_HASH: Schema = { type: 'string', pattern: '^(0[xX])?[0-9a-fA-F]{64}$' };

const PAGING: readonly Parameter[] = [
  query('limit', 'Items at most.', {
    type: 'integer',
    minimum: 1,
    maximum: LIMIT_MAX,
    default: LIMIT_DEFAULT,
  }),
  query('offset', 'Items to leave out, counted from the newest. Not together with a cursor.', {
    type: 'integer',
    minimum: 0,
    default: 0,
  }),
  query(
    'cursor',
    'Where to go on, as the Link header of the page before says it. Opaque, and good for the same list and filters only.',
    {
      type: 'string',
      pattern: CURSOR.source,
    },
  ),
];
