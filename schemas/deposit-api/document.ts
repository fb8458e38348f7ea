/** The operations of the deposit gateway and its OpenAPI document, as `/openapi.json` serves it. */
import { Type, type TObject } from 'typebox';
import { record } from '../http-api/answer.ts';
import { json, openApi, type Answer, type Operation } from '../http-api/document.ts';
import {
  answering,
  header,
  HEADERS,
  RETRY_SECONDS,
  serviceOperations,
  type Answers,
} from '../http-api/service.ts';
import {
  ADDRESS_CHECK,
  DEPOSIT_ADDRESS,
  DEPOSIT_DETAIL,
  DEPOSIT_LIST,
  depositId,
  MINT_QUEUE,
  POLICY,
  TIMELINE,
} from './deposits.ts';

const ON_ALL = { 'x-request-id': 'RequestId' };
const ERROR = record('Error', {
  error: Type.String({
    minLength: 1,
    description: 'What to do. It never repeats input of the request.',
  }),
});
const { error, shared, ...kinds } = answering(ON_ALL, ERROR, (_code, message) => ({
  error: message,
}));

const ALWAYS: Answers = { 413: 'TooLarge', 429: 'RateLimited', 500: 'InternalError' };
const OPEN: Answers = { 400: 'Malformed', ...ALWAYS };

/** The answer to a caller. */
function owned(description: string, schema: TObject): Answers {
  return {
    200: { description, headers: ON_ALL, content: json(schema) },
    400: 'NoAddress',
    401: 'Unauthorized',
    403: 'Forbidden',
    ...ALWAYS,
    503: 'Unavailable',
  };
}

function uncached(description: string, content: Answer['content']): Answers {
  return { ...kinds.uncached(description, content), ...OPEN };
}

function cached(description: string, content: Answer['content']): Answers {
  return { ...kinds.cached(description, content), ...OPEN };
}

const DEPOSIT_ID = depositId('not found');

export const OPEN_ADDRESS = {
  path: '/api/v1/deposits',
  method: 'post',
  operationId: 'openDepositAddress',
  tag: 'Deposits',
  summary: "The caller's deposit address",
  description:
    'The first call creates the address; later calls return the same one. Each call also marks the address as hot, so that transfers are found sooner for a while. The body is ignored. It is safe to repeat, also after a 503.',
  parameters: [],
  answers: owned('The address.', DEPOSIT_ADDRESS),
} satisfies Operation;

export const LIST_DEPOSITS = {
  path: '/api/v1/deposits',
  operationId: 'listDeposits',
  tag: 'Deposits',
  summary: "The caller's deposits, newest first",
  description: 'The newest 20, without paging.',
  parameters: [],
  answers: owned('The deposits.', DEPOSIT_LIST),
} satisfies Operation;

export const GET_DEPOSIT = {
  path: '/api/v1/deposits/:id',
  operationId: 'getDeposit',
  tag: 'Deposits',
  summary: 'One deposit',
  parameters: [DEPOSIT_ID],
  answers: { ...owned('The deposit.', DEPOSIT_DETAIL), 404: 'NotFound' },
} satisfies Operation;

export const LIST_EVENTS = {
  path: '/api/v1/deposits/:id/events',
  operationId: 'listDepositEvents',
  tag: 'Deposits',
  summary: 'The history of one deposit',
  description:
    'Each event with topic, partition and offset, so that it can be checked against the log.',
  parameters: [DEPOSIT_ID],
  answers: { ...owned('The history so far.', TIMELINE), 404: 'NotFound' },
} satisfies Operation;

export const GET_ADDRESS_CHECK = {
  path: '/api/v1/address-check',
  operationId: 'getAddressCheck',
  tag: 'Deposits',
  summary: "When the caller's deposit address was last checked for transfers",
  description:
    'An address is checked often after it was opened, and less and less often after that. While `overdue_ms` grows, the checks are late and transfers are found later than usual; none is lost.',
  parameters: [],
  answers: owned('The check.', ADDRESS_CHECK),
} satisfies Operation;

export const GET_POLICY = {
  path: '/public/policy',
  operationId: 'getPolicy',
  tag: 'Deposits',
  summary: 'The policy in force',
  description:
    'Fees and limits of the deposits to come. The credit of a deposit is what arrives less `first_fee` for the first deposit of an address and `later_fee` for each later one, at least 0. A credit of 0, below `minimum` or above `single_cap` waits for a person. Credits above `rolling_cap` within 24 hours wait for their turn.',
  parameters: [],
  is_open: true,
  answers: { ...cached('The policy.', json(POLICY)), 503: 'Unavailable' },
} satisfies Operation;

export const GET_MINT_QUEUE = {
  path: '/public/mint-queue',
  operationId: 'getMintQueue',
  tag: 'Deposits',
  summary: 'The room under the rolling cap, and who waits',
  description:
    'A credit is minted when the sum of those before it and itself is at most `cap_left` and what has left the 24 hours by then. A smaller credit may be minted before a larger one that does not fit, for a day at most.',
  parameters: [],
  is_open: true,
  answers: { ...cached('The queue.', json(MINT_QUEUE)), 503: 'Unavailable' },
} satisfies Operation;

export const DEPOSIT_API = openApi({
  info: {
    title: 'CLT deposits',
    version: '1.0.0',
    summary:
      'A permanent USDT deposit address for each account, and the state of each transfer to it',
    description: [
      'Each account has exactly one permanent USDT (TRC-20) deposit address. Every transfer to it becomes a credit of its own: what arrived less a network fee, minted as CLT to that account. A transfer is seen by polling, some time after it is solid on TRON; nothing is ever pushed.',
      "**Authentication**: each path under `/api/` needs `Authorization: Bearer <token>`, the token that the hub issues at sign-in, in its address form (0x + 40 hex). The account that is asked for and credited is always the token's; no request names another. What belongs to another account answers exactly as what does not exist.",
      '**Numbers** are micro-USDT, which is CLT base units: 1 USD is 1,000,000. They are exact whatever their size, so read them with arbitrary precision. Times are UTC. A client that meets an unknown status shows it as it is.',
      '**Errors** are `{error}`: 400, 403, 404, 405, 413, 429 with Retry-After, 503, 500. 401 has no body. HEAD is answered like GET. What is not HTTP is answered 400, 408 or 431 in the same shape.',
    ].join('\n\n'),
  },
  tags: {
    Deposits: 'Deposit addresses and deposits.',
    Service: 'Health, metrics and this document.',
  },
  operations: [
    OPEN_ADDRESS,
    LIST_DEPOSITS,
    GET_DEPOSIT,
    LIST_EVENTS,
    GET_ADDRESS_CHECK,
    GET_POLICY,
    GET_MINT_QUEUE,
    ...serviceOperations(uncached, cached, {
      operationId: 'getReadiness',
      summary: 'Whether the service can answer',
      unready: 'Unavailable',
    }),
  ],
  headers: {
    ...HEADERS,
    MayRetryAfter: header(
      'Seconds to wait before the next request, when known.',
      RETRY_SECONDS,
      '1',
      false,
    ),
    Authenticate: header('Authentication scheme.', { const: 'Bearer' }, 'Bearer'),
    Allow: header('Methods of this path.', { enum: ['GET, HEAD', 'POST, GET, HEAD'] }, 'GET, HEAD'),
  },
  answers: {
    ...shared,
    NoAddress: error(
      'The token carries a public key rather than an address, or the request is malformed.',
      'invalid_request',
      'deposits require an address-form token (0x + 40 hex) and public-key tokens are not accepted',
    ),
    Malformed: error(
      'The request is malformed.',
      'invalid_request',
      'the address is not well-formed: each % must begin the hex digits of UTF-8 text',
    ),
    Unauthorized: {
      description: 'The token is missing or invalid.',
      headers: { ...ON_ALL, 'www-authenticate': 'Authenticate' },
      content: { 'text/plain': { schema: Type.Literal('') } },
    },
    Forbidden: error(
      'Mainnet only: the account is not on the list of the pilot.',
      'forbidden',
      "account is not on the pilot's list",
    ),
    NotFound: error(
      'The deposit does not exist or belongs to another account; the answers are identical.',
      'not_found',
      'not found',
    ),
    Unavailable: error(
      'Deposits cannot be read now, or a new address is not available yet. Repeat the request.',
      'not_ready',
      'deposits cannot be read at the moment: try again shortly',
      { 'retry-after': 'MayRetryAfter' },
    ),
  },
  security: [{ bearer: [] }],
  security_schemes: {
    bearer: {
      type: 'http',
      scheme: 'bearer',
      bearerFormat: 'JWT',
      description: 'HS256, claims pk and exp, as the hub issues it.',
    },
  },
});
