/** Every path of deposits. To add one: its schemas in schemas.ts, an example in examples.ts, an entry here; the tests then want it served and its answers to fit. */
import {
  schema,
  type Header,
  type Json,
  type Operation,
  type Parameter,
  type Paths,
  type Reference,
  type Response,
  type Schema,
} from '../openapi.ts';
import * as examples from './examples.ts';

export const HEADERS: Readonly<Record<string, Header>> = {
  RequestId: {
    description: 'Names this request in our log: tell it when something is wrong.',
    required: true,
    schema: { type: 'string', minLength: 1 },
    example: '6f1d2c3b4a59-1',
  },
  RetryAfter: {
    description: 'After how many seconds to ask again.',
    required: true,
    schema: { type: 'string', pattern: '^[1-9][0-9]*$' },
    example: '1',
  },
  MayRetryAfter: {
    description: 'After how many seconds to ask again, where that can be said.',
    required: false,
    schema: { type: 'string', pattern: '^[1-9][0-9]*$' },
    example: '1',
  },
  Authenticate: {
    description: 'What to come with.',
    required: true,
    schema: { type: 'string', const: 'Bearer' },
    example: 'Bearer',
  },
  Allow: {
    description: 'The methods that the path answers.',
    required: true,
    schema: { type: 'string', enum: ['GET, HEAD', 'POST, GET, HEAD'] },
    example: 'GET, HEAD',
  },
};

const ALWAYS = { 'x-request-id': header('RequestId') } as const;

function header(name: string): Reference {
  return { $ref: `#/components/headers/${name}` };
}

function errorResponse(
  description: string,
  error: string,
  more: Readonly<Record<string, Reference>> = {},
): Response {
  return {
    description,
    headers: { ...ALWAYS, ...more },
    content: { 'application/json': { schema: schema('Error'), example: { error } } },
  };
}

/** Keyed by name; the paths refer to them. */
export const RESPONSES = {
  NoAddress: errorResponse(
    'The token carries a public key rather than an address, or the request is malformed.',
    'deposits require an address-form token (0x + 40 hex) and public-key tokens are not accepted',
  ),
  Malformed: errorResponse(
    'The request is malformed.',
    'the address is not well-formed: each % must begin the hex digits of UTF-8 text',
  ),
  Unauthorized: {
    description: 'There is no token, or it is not valid: no hint.',
    headers: { ...ALWAYS, 'www-authenticate': header('Authenticate') },
    content: { 'text/plain': { schema: { type: 'string', const: '' } } },
  },
  Forbidden: errorResponse(
    "On the mainnet: the account is not on the pilot's list.",
    "account is not on the pilot's list",
  ),
  NotFound: errorResponse(
    "There is no such deposit, or it is another account's: the same answer.",
    'not found',
  ),
  MethodNotAllowed: errorResponse(
    'The path does not answer this method.',
    'this path answers GET, HEAD only',
    { allow: header('Allow') },
  ),
  TooLarge: errorResponse('The request has a body, and a large one.', 'the body is too large'),
  RateLimited: errorResponse(
    'Too many requests from this client.',
    'too many requests: try again in 1 s',
    {
      'retry-after': header('RetryAfter'),
    },
  ),
  InternalError: errorResponse('Something is wrong on our side.', 'something is wrong on our side'),
  Unavailable: errorResponse(
    'Deposits cannot be read at the moment, or a new address is not there yet. Send the same request again.',
    'deposits cannot be read at the moment: try again shortly',
    { 'retry-after': header('MayRetryAfter') },
  ),
} as const satisfies Readonly<Record<string, Response>>;

type Name = keyof typeof RESPONSES;

const OPEN: Readonly<Record<string, Name>> = {
  '400': 'Malformed',
  '413': 'TooLarge',
  '500': 'InternalError',
};
const SECURED: Readonly<Record<string, Name>> = {
  '400': 'NoAddress',
  '401': 'Unauthorized',
  '403': 'Forbidden',
  '413': 'TooLarge',
  '429': 'RateLimited',
  '500': 'InternalError',
  '503': 'Unavailable',
};
const OWNED: Readonly<Record<string, Name>> = { ...SECURED, '404': 'NotFound' };

interface Described extends Pick<Operation, 'operationId' | 'summary' | 'description'> {
  readonly tag: string;
  readonly parameters?: readonly Parameter[];
  /** what the answer is */
  readonly answer: string;
  /** text when not given */
  readonly schema?: Schema;
  readonly example?: Json;
  readonly media?: string;
  readonly refusals: Readonly<Record<string, Name>>;
}

function operation({
  tag,
  parameters = [],
  answer,
  schema: body = { type: 'string' },
  example,
  media = 'application/json',
  refusals,
  ...rest
}: Described): Operation {
  const refused = Object.entries(refusals).toSorted(([a], [b]) => Number(a) - Number(b));
  return {
    ...rest,
    tags: [tag],
    parameters,
    ...('401' in refusals ? {} : { security: [] }),
    responses: {
      '200': {
        description: answer,
        headers: ALWAYS,
        content: { [media]: { schema: body, ...(example === undefined ? {} : { example }) } },
      },
      ...Object.fromEntries(
        refused.map(([status, response]) => [
          status,
          { $ref: `#/components/responses/${response}` },
        ]),
      ),
    },
  };
}

const DEPOSIT: Parameter = {
  name: 'id',
  in: 'path',
  required: true,
  description: 'Of the deposit, as the list tells it.',
  schema: { type: 'string', minLength: 1 },
  example: examples.ID,
};

function service(
  operationId: string,
  summary: string,
  answer: string,
  rest: Partial<Described> = {},
): { readonly get: Operation } {
  return {
    get: operation({ operationId, summary, answer, tag: 'Service', refusals: OPEN, ...rest }),
  };
}

export const PATHS: Paths = {
  '/api/v1/deposits': {
    post: operation({
      operationId: 'openDepositAddress',
      tag: 'Deposits',
      summary: "The caller's deposit address",
      description:
        'The first call makes it, every later one gives the same. It also says that the deposit panel was opened, so that transfers to the address are found sooner for ' +
        'a while. No body; one that is sent is not read. It may be sent again at any time, also after a 503.',
      answer: 'The address.',
      schema: schema('DepositAddress'),
      example: examples.ADDRESS,
      refusals: SECURED,
    }),
    get: operation({
      operationId: 'listDeposits',
      tag: 'Deposits',
      summary: "The caller's deposits, newest first",
      description: 'At most the newest 20, without pages.',
      answer: 'The deposits.',
      schema: schema('DepositList'),
      example: examples.LIST,
      refusals: SECURED,
    }),
  },
  '/api/v1/deposits/{id}': {
    get: operation({
      operationId: 'getDeposit',
      tag: 'Deposits',
      summary: 'One deposit',
      parameters: [DEPOSIT],
      answer: 'The deposit.',
      schema: schema('DepositDetail'),
      example: examples.DETAIL,
      refusals: OWNED,
    }),
  },
  '/api/v1/deposits/{id}/events': {
    get: operation({
      operationId: 'listDepositEvents',
      tag: 'Deposits',
      summary: "One deposit's story",
      description:
        'Every event with its place in the log, so that whoever has the topics can look it up.',
      parameters: [DEPOSIT],
      answer: 'The story so far.',
      schema: schema('Timeline'),
      example: examples.TIMELINE,
      refusals: OWNED,
    }),
  },
  '/health': service('getHealth', 'Whether the process runs', 'It does.', {
    schema: schema('Health'),
    example: { status: 'ok' },
  }),
  '/ready': service('getReadiness', 'Whether deposits can be served', 'They can.', {
    schema: schema('Ready'),
    example: { status: 'ready' },
    refusals: { ...OPEN, '503': 'Unavailable' },
  }),
  '/metrics': service('getMetrics', 'Figures for monitoring', "Prometheus' text format.", {
    media: 'text/plain',
  }),
  '/openapi.json': service('getOpenApi', 'This document', 'OpenAPI 3.1.', {
    schema: { type: 'object' },
  }),
  '/docs': service('getDocs', 'This document as a page', 'Swagger UI.', {
    media: 'text/html',
  }),
};
