/** The operations of `ops console`, and its OpenAPI document, as `/openapi.json` serves it. */
import { Type, type TProperties } from 'typebox';
import { depositId, ID } from '../deposit-api/deposits.ts';
import { ACCOUNT } from '../explorer-api/values.ts';
import { exampleOf, record, word, type Shape } from '../http-api/answer.ts';
import { json, type Operation } from '../http-api/document.ts';
import { ANY_TEXT, optional, several, type Parameter } from '../http-api/parameters.ts';
import { error, plainApi, uncached } from '../http-api/plain-api.ts';
import { header } from '../http-api/service.ts';
import { DECIDED_MAX } from '../treasury.ledger/events.ts';
import {
  CHALLENGE,
  DECIDED,
  DEPOSIT,
  OPERATIONS,
  PROPOSAL,
  RECORD_LINE,
  SESSION,
  STREAM_LINE,
  TOPIC_LIST,
  WAITING_LIST,
} from './answers.ts';

type Defined<Parameters extends readonly Parameter[], Body extends TProperties> = Omit<
  Operation<Parameters, Body>,
  'tag'
>;

function operation<const Parameters extends readonly Parameter[], Body extends TProperties>({
  answers,
  ...defined
}: Defined<Parameters, Body>): Operation<Parameters, Body> {
  const refused = { 401: 'Unauthorized', 403: 'ForeignHost' };
  return { tag: 'Operations', ...defined, answers: { ...answers, ...refused } };
}

function given(example: string, description: string) {
  return Type.String({ is: 'missing: it is text', example, description });
}
function whole(example: number, description: string) {
  const [minimum, maximum] = [0, Number.MAX_SAFE_INTEGER];
  const is = 'missing: it is a whole number';
  return Type.Integer({ minimum, maximum, is, example, description });
}
const SIGNATURE = Type.String({
  is: 'r, s and v: 0x and 130 hex digits',
  pattern: '^0[xX][0-9a-fA-F]{130}$',
  example: `0x${'5b'.repeat(65)}`,
});

export const MAKE_CHALLENGE = operation({
  path: '/api/v1/challenges',
  operationId: 'makeChallenge',
  summary: 'The text to sign for a session',
  parameters: [],
  body: Type.Object({ address: given(ACCOUNT, 'Of the key that signs.') }),
  is_open: true,
  answers: uncached('The text, good for two minutes.', json(CHALLENGE)),
});

export const OPEN_SESSION = operation({
  path: '/api/v1/sessions',
  operationId: 'openSession',
  summary: 'Sign in',
  parameters: [],
  body: Type.Object({
    text: given('127.0.0.1:17030 wants you to sign in...', 'The text, once.'),
    signature: SIGNATURE,
  }),
  is_open: true,
  answers: uncached('The session, for half an hour.', json(SESSION)),
});

export const SIGN_OUT = operation({
  path: '/api/v1/sign-out',
  operationId: 'signOut',
  summary: 'End the session',
  parameters: [],
  body: Type.Object({}),
  answers: uncached('The token is of nobody now.', json(record('SignedOut', {}))),
});

export const GET_OPERATIONS = operation({
  path: '/api/v1/operations',
  operationId: 'getOperations',
  summary: 'The state of the system',
  parameters: [],
  answers: uncached('The state, at most a second old.', json(OPERATIONS)),
});

export const LIST_TOPICS = operation({
  path: '/api/v1/topics',
  operationId: 'listTopics',
  summary: 'The topics of the log and the types of their records',
  parameters: [],
  answers: uncached('The topics.', json(TOPIC_LIST)),
});

/** A text of any length. */
function filter<const Name extends string>(
  name: Name,
  description: string,
): Parameter<Name, string | undefined> {
  return { ...optional(name, ANY_TEXT, { description }), characters_max: Infinity };
}

export const STREAM_RECORDS = operation({
  path: '/api/v1/records',
  operationId: 'streamRecords',
  summary: 'Records of a topic, and those to come',
  description: 'The filters are those of `ops tail`.',
  parameters: [
    filter('topic', 'The topic.'),
    filter('from', 'The first record: an offset, a time, `10m ago`, or end.'),
    filter('last', 'So many of the newest; 50 when neither is given. Not together with from.'),
    filter('where', 'A condition of the fields, such as `amount >= 5000000`.'),
    several('partition', { description: 'Only these partitions.' }),
    several('key', { description: 'Only records with these keys.' }),
    several('type', { description: 'Only records of these types.' }),
    several('header', { description: 'Only records with all these headers, `name=value`.' }),
  ],
  answers: uncached('A line each, some of them empty.', {
    'application/x-ndjson': { schema: STREAM_LINE, example: exampleOf(RECORD_LINE) },
  }),
});

export const GET_DEPOSIT = operation({
  path: '/api/v1/deposits/:id',
  operationId: 'getDeposit',
  summary: 'A deposit with every event, and the effect of each decision',
  parameters: [depositId('that is no id of a deposit')],
  answers: { ...uncached('The deposit.', json(DEPOSIT)), 404: 'NotFound' },
});

export const LIST_WAITING = operation({
  path: '/api/v1/waiting',
  operationId: 'listWaiting',
  summary: 'Deposits that wait for a person',
  parameters: [filter('below', 'Only those of less than this, in USDT, like 12.5.')],
  answers: uncached('The newest of them.', json(WAITING_LIST)),
});

/** The fields that a person gives. */
export type Wanted = Shape<typeof WANTED>;
const WANTED = Type.Object({
  verb: word(['approve', 'reject'], { is: 'one of approve, reject' }),
  deposit_ids: Type.Array(Type.String(), {
    is: `a list of 1 to ${DECIDED_MAX} ids`,
    minItems: 1,
    maxItems: DECIDED_MAX,
    example: [exampleOf(ID)],
  }),
  actor: given('alice', 'Who decides. The log keeps it for ever.'),
  reason: given('known to us', 'Why. The log keeps it for ever.'),
});

export const PROPOSE = operation({
  path: '/api/v1/proposals',
  operationId: 'propose',
  summary: 'The text to sign for a decision',
  parameters: [],
  body: WANTED,
  answers: { ...uncached('The text and its place.', json(PROPOSAL)), 404: 'NotFound' },
});

export const DECIDE = operation({
  path: '/api/v1/decisions',
  operationId: 'decide',
  summary: 'Append a decision that is signed',
  description: 'With the fields of the text to sign. The operator is the one of the session.',
  parameters: [],
  body: Type.Object({
    ...WANTED.properties,
    sequence: whole(1042, 'As proposed.'),
    decided_at: whole(1_795_246_083_000, 'As proposed, at most ten minutes ago.'),
    signature: SIGNATURE,
  }),
  answers: {
    ...uncached('Its place in the log.', json(DECIDED)),
    404: 'NotFound',
    409: 'Conflict',
  },
});

export const OPERATIONS_API = plainApi({
  info: {
    title: 'CLT operations',
    version: '1.0.0',
    summary: 'Status, records and deposits for operators, and their decisions',
    description:
      'For this machine alone. An operator signs a text with the key and gets a token for half an hour. Amounts are micro-USDT as digits; times are UTC. Errors are `{code, message}`.',
  },
  tags: { Operations: 'The system, and decisions about deposits.' },
  operations: [
    MAKE_CHALLENGE,
    OPEN_SESSION,
    SIGN_OUT,
    GET_OPERATIONS,
    LIST_TOPICS,
    STREAM_RECORDS,
    GET_DEPOSIT,
    LIST_WAITING,
    PROPOSE,
    DECIDE,
  ],
  headers: {
    Authenticate: header('Authentication scheme.', { const: 'Bearer' }, 'Bearer', false),
  },
  answers: {
    Unauthorized: error(
      'The token is missing or of nobody, or the sign-in fails.',
      'unauthorized',
      'sign in first: the token is missing, has expired, or its operator is not in force',
      { 'www-authenticate': 'Authenticate' },
    ),
    ForeignHost: error(
      'The page is not opened as one of this machine.',
      'foreign_host',
      'open this page as http://localhost or http://127.0.0.1, through a tunnel from elsewhere',
    ),
    Conflict: error(
      'The signature is too late.',
      'too_late',
      'the text was signed too late: decide again',
    ),
  },
  security: [{ bearer: [] }],
  security_schemes: {
    bearer: {
      type: 'http',
      scheme: 'bearer',
      bearerFormat: 'opaque',
      description: 'The token of a session.',
    },
  },
});
