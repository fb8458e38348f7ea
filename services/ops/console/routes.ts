/** The interface of the operations page. All but the sign-in needs the token of a session. */
import { text as textOf } from 'node:stream/consumers';
import { parseDepositId } from '../../../schemas/deposit-id.ts';
import { TOPICS } from '../../../schemas/topics.ts';
import { DECIDED_MAX } from '../../../schemas/treasury.ledger/events.ts';
import type {
  ErrorShape,
  Guard,
  HttpRequest,
  HttpResponse,
  PostRoute,
  Route,
} from '../../runtime/http/handler.ts';
import { bearerToken } from '../../runtime/http/token.ts';
import { assert, type Fault, type Refusal } from '../../runtime/process/errors.ts';
import type { Reader } from '../../runtime/postgres/pool.ts';
import { jsonOf } from '../connections.ts';
import { readDeposit, readDeposits } from '../deposit/deposits.ts';
import { readFilters, type TopicFilters } from '../tail/read-topic.ts';
import { recordJson } from '../tail/records.ts';
import { decision, Misuse, usd } from '../usage.ts';
import { effectsOf, VERBS, type LiveLedger, type Wanted } from './live-ledger.ts';
import { recordStream } from './record-stream.ts';
import type { Session, SignIns } from './sign-in.ts';

/** Streams of records at once, of all pages. */
const STREAMS_MAX = 12;
const NEWEST = '50';
const SIGNATURE = /^0x[0-9a-f]{130}$/i;

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
  /** the state of the system, as JSON can say it */
  readonly look: () => Promise<object>;
  readonly tail: Parameters<ReturnType<typeof readFilters>>[0];
  /** ends the streams */
  readonly signal: AbortSignal;
  /** Unix milliseconds */
  readonly now: () => number;
}

const OPEN = new Set(['/api/v1/challenges', '/api/v1/sessions']);
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

type Answered = HttpResponse | Refusal;

export function operationsRoutes(operations: Operations): readonly Route[] {
  const { sign_ins: signIns, ledger, reader, look, now } = operations;
  const session = (request: HttpRequest): Session => {
    const found = sessionOf(signIns, request);
    assert(found !== undefined, 'a request was served without its session');
    return found;
  };
  let streams = 0;
  return [
    post('/api/v1/challenges', (request, body) => {
      const { host = '' } = request.headers;
      const made = signIns.challenge(given(body, 'address'), `http://${host}`);
      return 'refused' in made ? made : ok(made);
    }),
    post('/api/v1/sessions', (_request, body) => {
      const opened = signIns.open(given(body, 'text'), signatureIn(body));
      if ('refused' in opened) return opened;
      const { token, operator, expires_at } = opened;
      return ok({ token, operator: `0x${operator.toString('hex')}`, expires_at });
    }),
    post('/api/v1/sign-out', (request) => {
      signIns.close(session(request).token);
      return ok({});
    }),
    get('/api/v1/operations', async () => ok(await look())),
    get('/api/v1/topics', () =>
      ok({ topics: TOPICS.map(({ name, events }) => ({ name, types: events.map(typeOf) })) }),
    ),
    get('/api/v1/records', async (request) => {
      const filters = filtersIn(request);
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
    get('/api/v1/deposits/:id', async (request) => {
      const id = idOf(request.params['id']);
      const deposit = await readDeposit(reader, id);
      if (deposit === undefined) return NO_DEPOSIT;
      const effects = ledger.ledger && effectsOf(ledger.ledger, id);
      return ok({ ...deposit, effects: effects ?? null });
    }),
    // all that wait, of less than an amount where one is given
    get('/api/v1/waiting', async ({ query: { below } }) => {
      const less = typeof below === 'string' ? usd('below', below) : undefined;
      return ok(
        await readDeposits(reader, {
          status: 'needs_manual',
          limit: DECIDED_MAX,
          isWanted: ({ amount_usdt: arrived }) => less === undefined || BigInt(arrived) < less,
        }),
      );
    }),
    post('/api/v1/proposals', async (request, body) => {
      const proposal = await ledger.propose(wantedIn(body, session(request)));
      return 'refused' in proposal ? proposal : ok(proposal);
    }),
    post('/api/v1/decisions', async (request, body) => {
      const wanted = wantedIn(body, session(request));
      const [sequence, decided_at] = [wholeIn(body, 'sequence'), wholeIn(body, 'decided_at')];
      const made = await ledger.decide(wanted, { sequence, decided_at }, signatureIn(body));
      return 'refused' in made ? made : ok({ appended: made.appended ?? null });
    }),
  ];
}

const NO_DEPOSIT: Refusal = { refused: 'not_found', message: 'there is no deposit with this id' };

function typeOf({ type }: { readonly type: string }): string {
  return type;
}

function ok(body: object): HttpResponse {
  return { status: 200, body: jsonOf(body) };
}

/** A command's refusal is this interface's. */
async function refusing(work: () => Answered | Promise<Answered>): Promise<Answered> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Misuse) return { refused: error.code, message: error.message };
    throw error;
  }
}

function get(path: string, handle: (request: HttpRequest) => Answered | Promise<Answered>): Route {
  return { method: 'get', path, handle: (request) => refusing(() => handle(request)) };
}

/** JSON alone, which a form of another page cannot send. */
function post(
  path: string,
  handle: (request: HttpRequest, body: object) => Answered | Promise<Answered>,
): Route {
  return {
    method: 'post',
    path,
    handle: (request) => refusing(async () => handle(request, await bodyOf(request))),
  };
}

async function bodyOf(request: Parameters<PostRoute['handle']>[0]): Promise<object> {
  const { 'content-type': type = '', 'content-length': length } = request.headers;
  if (!type.startsWith('application/json') || length === undefined)
    throw new Misuse('the body is JSON, with its length', 'invalid_request');
  try {
    const body: unknown = JSON.parse(await textOf(request));
    if (typeof body === 'object' && body !== null) return body;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw new Misuse('the body is a JSON object', 'invalid_request');
}

function given(body: object, name: string): string {
  const value: unknown = Reflect.get(body, name);
  if (typeof value === 'string') return value;
  throw new Misuse(`${name} is missing: it is text`, 'invalid_request');
}

function wholeIn(body: object, name: string): number {
  const value: unknown = Reflect.get(body, name);
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
  throw new Misuse(`${name} is missing: it is a whole number`, 'invalid_request');
}

function signatureIn(body: object): Buffer {
  const signature = given(body, 'signature');
  if (SIGNATURE.test(signature)) return Buffer.from(signature.slice(2), 'hex');
  throw new Misuse('signature is r, s and v: 0x and 130 hex digits', 'invalid_request');
}

function idOf(text: unknown): string {
  const id = typeof text === 'string' ? parseDepositId(text) : undefined;
  if (id === undefined) throw new Misuse('that is no id of a deposit', 'not_found');
  return id;
}

function idsIn(body: object): readonly string[] {
  const ids: unknown = Reflect.get(body, 'deposit_ids');
  if (Array.isArray(ids) && ids.length > 0 && ids.length <= DECIDED_MAX) return ids.map(idOf);
  throw new Misuse(`deposit_ids is a list of 1 to ${DECIDED_MAX} ids`, 'invalid_request');
}

/** The operator is the session's: nobody decides for another one. */
function wantedIn(body: object, { operator }: Session): Wanted {
  const verb = VERBS.find((each) => each === given(body, 'verb'));
  if (verb === undefined) throw new Misuse(`verb is one of ${VERBS.join(', ')}`, 'invalid_request');
  const { actor, reason } = decision({
    actor: given(body, 'actor'),
    reason: given(body, 'reason'),
  });
  return { verb, deposit_ids: idsIn(body), actor, reason, operator };
}

/** The options of `ops tail`, but those that end it. */
function filtersIn({ query }: HttpRequest): TopicFilters {
  const all = (name: string): readonly string[] =>
    [query[name] ?? []]
      .flat()
      .filter((each): each is string => typeof each === 'string' && each !== '');
  const [topic = ''] = all('topic');
  const [from] = all('from');
  const [last = from === undefined ? NEWEST : undefined] = all('last');
  if (from !== undefined && last !== undefined)
    throw new Misuse('from and last are given: keep one of them');
  const [where] = all('where');
  return {
    topic,
    from,
    last,
    where,
    to: undefined,
    limit: undefined,
    'no-follow': undefined,
    // it would read the whole topic first
    effective: undefined,
    partition: all('partition'),
    key: all('key'),
    type: all('type'),
    header: all('header'),
  };
}
