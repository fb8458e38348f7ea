/** The interface of the operations page. All but the sign-in needs the token of a session. */
import { toHex } from '../../../schemas/address.ts';
import { parseDepositId } from '../../../schemas/deposit-id.ts';
import type { Values } from '../../../schemas/http-api/parameters.ts';
import type * as answers from '../../../schemas/operations-api/answers.ts';
import {
  DECIDE,
  GET_DEPOSIT,
  GET_OPERATIONS,
  LIST_TOPICS,
  LIST_WAITING,
  MAKE_CHALLENGE,
  OPEN_SESSION,
  PROPOSE,
  SIGN_OUT,
  STREAM_RECORDS,
  type Wanted,
} from '../../../schemas/operations-api/document.ts';
import { TOPICS } from '../../../schemas/topics.ts';
import { DECIDED_MAX } from '../../../schemas/treasury.ledger/events.ts';
import type {
  Answered,
  ErrorShape,
  Guard,
  HttpRequest,
  Route,
} from '../../runtime/http/handler.ts';
import type { HttpResponse } from '../../runtime/http/response.ts';
import { posted } from '../../runtime/http/posted.ts';
import { served } from '../../runtime/http/served.ts';
import { bearerToken } from '../../runtime/http/token.ts';
import { assert, type Fault, type Refusal } from '../../runtime/process/errors.ts';
import type { Reader } from '../../runtime/postgres/pool.ts';
import { jsonOf, type BeforeJson } from '../connections.ts';
import { readDeposit, readDeposits } from '../deposit/deposits.ts';
import { readFilters, type TopicFilters } from '../tail/read-topic.ts';
import { recordJson } from '../tail/records.ts';
import { decision, Misuse, usd } from '../usage.ts';
import { effectsOf, type LiveLedger, type Signing } from './live-ledger.ts';
import { recordStream } from './record-stream.ts';
import type { Session, SignIns } from './sign-in.ts';

/** Streams of records at once, of all pages. */
const STREAMS_MAX = 12;
const NEWEST = '50';

/** The faults are shown to operators as they are. */
export const OPERATIONS_ERRORS: ErrorShape = {
  statuses: {
    unauthorized: 401,
    unknown_challenge: 401,
    foreign_key: 401,
    not_found: 404,
    ledger_moved: 409,
    too_late: 409,
    too_many_streams: 429,
    not_ready: 503,
  },
  fault: ({ code, message }: Fault) => ({ status: 503, code, message }),
  body: ({ code, message }) => JSON.stringify({ code, message }),
};

export interface Operations {
  readonly sign_ins: SignIns;
  readonly ledger: LiveLedger;
  readonly reader: Reader;
  readonly look: () => Promise<BeforeJson<answers.Operations>>;
  readonly tail: Parameters<ReturnType<typeof readFilters>>[0];
  /** ends the streams */
  readonly signal: AbortSignal;
  /** Unix milliseconds */
  readonly now: () => number;
}

const OPEN = new Set([MAKE_CHALLENGE.path, OPEN_SESSION.path]);
const UNAUTHORIZED: HttpResponse = {
  status: 401,
  body: OPERATIONS_ERRORS.body({
    status: 401,
    code: 'unauthorized',
    message: 'sign in first: the token is missing, has expired, or its operator is not in force',
  }),
  headers: { 'www-authenticate': 'Bearer' },
};

const OWN_NAMES: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);
const FOREIGN_HOST: HttpResponse = {
  status: 403,
  body: OPERATIONS_ERRORS.body({
    status: 403,
    code: 'foreign_host',
    message:
      'open this page as http://localhost or http://127.0.0.1, through a tunnel from elsewhere',
  }),
};

/** A page of another name that leads to this machine is refused, and so is what is no host. */
export const ownHost: Guard = ({ headers: { host = '' } }) =>
  isOwnHost(host) ? undefined : FOREIGN_HOST;

/** The parser that reads the host later decides what a host is. */
function isOwnHost(host: string): boolean {
  if (!URL.canParse(`http://${host}`)) return false;
  const { hostname, username, password, pathname, search, hash } = new URL(`http://${host}`);
  const isAlone = [username, password, search, hash].every((part) => part === '');
  return isAlone && pathname === '/' && !host.endsWith('/') && OWN_NAMES.has(hostname);
}

export function signedIn(signIns: SignIns): Guard {
  return (request) =>
    !request.path.startsWith('/api/') || OPEN.has(request.path) || sessionOf(signIns, request)
      ? undefined
      : UNAUTHORIZED;
}

function sessionOf(
  signIns: SignIns,
  { headers }: Pick<HttpRequest, 'headers'>,
): Session | undefined {
  const token = bearerToken(headers.authorization);
  return token === undefined ? undefined : signIns.of(token);
}

export function operationsRoutes(operations: Operations): readonly Route[] {
  const { sign_ins: signIns, ledger, reader, look, now } = operations;
  const session = (request: HttpRequest): Session => {
    const found = sessionOf(signIns, request);
    assert(found !== undefined, 'a request was served without its session');
    return found;
  };
  let streams = 0;
  return [
    posted(MAKE_CHALLENGE, ({ address }, { headers: { host = '' } }) => {
      const made = signIns.challenge(address, `http://${host}`);
      return 'refused' in made ? made : ok<answers.Challenge>(made);
    }),
    posted(OPEN_SESSION, ({ text, signature }) => {
      const opened = signIns.open(text, bytesOf(signature));
      if ('refused' in opened) return opened;
      const { token, operator, expires_at } = opened;
      return ok<answers.Session>({ token, operator: toHex(operator), expires_at });
    }),
    posted(SIGN_OUT, (_, request) => {
      signIns.close(session(request).token);
      return ok({});
    }),
    served(GET_OPERATIONS, async () => ok<answers.Operations>(await look())),
    served(LIST_TOPICS, () =>
      ok<answers.TopicList>({
        topics: TOPICS.map(({ name, events }) => ({ name, types: events.map(typeOf) })),
      }),
    ),
    served(STREAM_RECORDS, (values, request) =>
      refusing(async () => {
        const filters = filtersOf(values);
        const open = readFilters(filters);
        if (streams >= STREAMS_MAX)
          return {
            refused: 'too_many_streams',
            message: `${STREAMS_MAX} streams of records are open: close a page that shows one`,
          };
        streams++;
        const ended = (): void => void streams--;
        try {
          const run = await open(operations.tail, {
            judged: false,
            render: (partition, record, shown) =>
              `${recordJson(filters.topic, partition, record, shown)}\n`,
          });
          const left = AbortSignal.timeout(Math.max(0, session(request).expires_at - now()));
          const signal = AbortSignal.any([operations.signal, left]);
          const body = recordStream((output) => run(output).finally(ended), signal);
          return { status: 200, body, content_type: 'application/x-ndjson; charset=utf-8' };
        } catch (error) {
          ended();
          throw error;
        }
      }),
    ),
    served(GET_DEPOSIT, async ({ id }) => {
      const deposit = await readDeposit(reader, id);
      if (deposit === undefined) return NO_DEPOSIT;
      const effects = ledger.ledger && effectsOf(ledger.ledger, id);
      return ok<answers.Deposit>({ ...deposit, effects: effects ?? null });
    }),
    // all that wait, of less than an amount where one is given
    served(LIST_WAITING, ({ below }) =>
      refusing(async () => {
        const less = below === undefined ? undefined : usd('below', below);
        return ok<answers.WaitingList>(
          await readDeposits(reader, {
            status: 'needs_manual',
            limit: DECIDED_MAX,
            isWanted: ({ amount_usdt: amountUsdt }) =>
              less === undefined || BigInt(amountUsdt) < less,
          }),
        );
      }),
    ),
    posted(PROPOSE, (wanted, request) =>
      refusing(async () => {
        const proposal = await ledger.propose(signing(wanted, session(request)));
        return 'refused' in proposal ? proposal : ok<answers.Proposal>(proposal);
      }),
    ),
    posted(DECIDE, ({ sequence, decided_at, signature, ...wanted }, request) =>
      refusing(async () => {
        const place = { sequence, decided_at };
        const own = signing(wanted, session(request));
        const made = await ledger.decide(own, place, bytesOf(signature));
        return 'refused' in made ? made : ok<answers.Decided>({ appended: made.appended ?? null });
      }),
    ),
  ];
}

const NO_DEPOSIT: Refusal = { refused: 'not_found', message: 'there is no deposit with this id' };

function typeOf({ type }: { readonly type: string }): string {
  return type;
}

function ok<Answer extends object>(body: BeforeJson<Answer>): HttpResponse {
  return { status: 200, body: jsonOf(body) };
}

/** A command's refusal is this interface's. */
async function refusing(work: () => Promise<Answered>): Promise<Answered> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Misuse) return { refused: error.code, message: error.message };
    throw error;
  }
}

function bytesOf(signature: string): Buffer {
  return Buffer.from(signature.slice(2), 'hex');
}

function idOf(text: string): string {
  const id = parseDepositId(text);
  if (id === undefined) throw new Misuse('that is no id of a deposit', 'not_found');
  return id;
}

/** The operator is the session's: nobody decides for another one. */
function signing({ verb, deposit_ids, ...person }: Wanted, { operator }: Session): Signing {
  return { verb, deposit_ids: deposit_ids.map(idOf), ...decision(person), operator };
}

/** The options of `ops tail`, but those that end it. */
function filtersOf({
  topic = '',
  from,
  last,
  ...others
}: Values<typeof STREAM_RECORDS.parameters>): TopicFilters {
  if (from !== undefined && last !== undefined)
    throw new Misuse('from and last are given: keep one of them');
  return {
    ...others,
    topic,
    from,
    last: from === undefined ? (last ?? NEWEST) : undefined,
    to: undefined,
    limit: undefined,
    'no-follow': undefined,
    // it would read the whole topic first
    effective: undefined,
  };
}
