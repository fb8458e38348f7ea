/** The protocol graphql-transport-ws, by graphql-ws; its hooks admit and execute operations. */
import { createHash } from 'node:crypto';
import {
  execute,
  getOperationAST,
  getVariableValues,
  GraphQLError,
  type ExecutionArgs,
  type ExecutionResult,
  type GraphQLSchema,
} from 'graphql';
import { makeServer, type Context, type Server, type SubscribePayload } from 'graphql-ws';
import { isLong, LONG_BYTES_PER_CLIENT, UNREAD } from '../../runtime/http/app.ts';
import { callerOf, type Caller } from '../graphql/authentication.ts';
import { Truncation, type Hub, type HubContext } from '../graphql/context.ts';
import { textOf, VARIABLE_ERRORS_MAX, withCode, type Documents } from '../graphql/documents.ts';
import {
  errorBody,
  formatError,
  invalid,
  Refused,
  type ErrorFormatting,
} from '../graphql/errors.ts';
import { ListReader } from '../graphql/list-reader.ts';
import { textOfResult } from '../graphql/result-text.ts';
import { Clients } from '../graphql/turns.ts';
import type { BackpressuredSocket } from './backpressured-socket.ts';
import type {
  Payload,
  SharedSubscriptions,
  Subscriber,
  Subscription,
} from './shared-subscriptions.ts';

export interface ProtocolOptions {
  readonly schema: GraphQLSchema;
  readonly hub: Hub;
  readonly documents: Documents;
  readonly subscriptions: SharedSubscriptions;
  readonly formatting: ErrorFormatting;
  readonly jwt_secret: string;
  readonly socket_operations_max: number;
  readonly socket_init_ms: number;
  /** Unix milliseconds */
  readonly now: () => number;
}

/** One socket. */
export class Session {
  readonly socket: BackpressuredSocket;
  readonly client: string;
  /** ms after which an operation may start; 0: now */
  readonly wait: () => number;
  /** bytes that the client has not read, on all its sockets */
  readonly unread: () => number;
  readonly pending = new PendingOperations();
  /** of the token in `connection_init` */
  caller: Caller | undefined;

  constructor(parts: Pick<Session, 'socket' | 'client' | 'wait' | 'unread'>) {
    ({ socket: this.socket, client: this.client, wait: this.wait, unread: this.unread } = parts);
  }
}

type Connection = Context<Record<string, unknown>, Session>;

/** Memory of a subscription that lasts as long as it does. */
const SUBSCRIPTION_CHARACTERS_MAX = 8_192;
const KEY_CHARACTERS_MAX = 256;

interface OperationContext extends HubContext {
  readonly lists: ListReader;
  readonly id: string;
  readonly session: Session;
  /** identifies a subscription; without the caller, since no subscription shows private data */
  readonly key: string;
}

export function socketProtocol(options: ProtocolOptions): Server<Session> {
  const { schema, hub, documents, subscriptions, formatting, now } = options;
  const { socket_operations_max: operationsMax } = options;

  const prepare = (
    { extra: session, subscriptions: open }: Connection,
    id: string,
    { query, operationName, variables }: SubscribePayload,
  ): ExecutionArgs | readonly GraphQLError[] => {
    if (Object.keys(open).length > operationsMax || session.pending.size >= operationsMax)
      return [rateLimited(`at most ${operationsMax} operations at once on a socket`)];
    const wait = session.wait();
    if (wait > 0)
      return [rateLimited(`too many operations: try again in ${Math.ceil(wait / 1_000)} s`)];
    const document = documents.read(query);
    if (!('kind' in document)) return document;
    const operation = getOperationAST(document, operationName);
    if (operation === null || operation === undefined) return [unknownOperation(operationName)];
    const { coerced, errors } = getVariableValues(
      schema,
      operation.variableDefinitions ?? [],
      variables ?? {},
      { maxErrors: VARIABLE_ERRORS_MAX },
    );
    if (coerced === undefined) return errors.map((error) => withCode(error, 'BAD_USER_INPUT'));
    const { caller } = session;
    const contextValue: OperationContext = {
      hub,
      caller: caller !== undefined && now() < caller.expires_at * 1_000 ? caller : undefined,
      client: session.client,
      lists: new ListReader(hub, () => new Clients([session.client])),
      truncation: new Truncation(),
      id,
      session,
      key: JSON.stringify([textOf(document, operation), coerced]),
    };
    return { schema, document, operationName, variableValues: coerced, contextValue };
  };

  const open = async (args: ExecutionArgs): Promise<Subscription | ExecutionResult> => {
    const { key: text, caller, session } = contextOf(args);
    if (text.length > SUBSCRIPTION_CHARACTERS_MAX) {
      const message = `a subscription and its variables may have ${SUBSCRIPTION_CHARACTERS_MAX} characters`;
      return { errors: [invalid(message)] };
    }
    const key =
      text.length <= KEY_CHARACTERS_MAX ? text : createHash('sha256').update(text).digest('base64');
    const { document, operationName, variableValues } = args;
    return await subscriptions.open(
      key,
      { document, operationName: operationName ?? undefined, variables: variableValues ?? {} },
      { client: session.client, account: caller?.account },
    );
  };

  /** As text, with its errors as clients see them. */
  const serialize = ({ errors, ...others }: ExecutionResult): Promise<string> =>
    textOfResult({
      ...(errors && {
        errors: errors.map((error) => formatError(formatting, error.toJSON(), error)),
      }),
      ...others,
    });
  const answer = async (
    { id, session }: OperationContext,
    result: ExecutionResult,
  ): Promise<Answer> => new Answer(id, await serialize(result), session);

  return makeServer<Record<string, unknown>, Session>({
    connectionInitWaitTimeout: options.socket_init_ms,
    onConnect: async ({ extra: session, connectionParams }) => {
      const authorization = connectionParams?.['Authorization'];
      session.caller = await callerOf(authorization, options.jwt_secret, now());
      return true;
    },
    onSubscribe: (connection, id, payload) => prepare(connection, id, payload),
    execute: async (args: ExecutionArgs) => {
      const context = contextOf(args);
      const { id, lists, session, truncation } = context;
      const executed = async (): Promise<Answer> =>
        answer(context, truncation.extend(await execute(args)));
      return await session.pending.run(
        id,
        executed().finally(() => lists.close()),
      );
    },
    subscribe: async (args: ExecutionArgs) => {
      const context = contextOf(args);
      const { id, session } = context;
      const opened = async (): Promise<Deliveries | Answer> => {
        const result = await open(args);
        if ('start' in result) return new Deliveries(id, result, session.socket);
        return answer(context, result);
      };
      return await session.pending.run(id, opened(), (discarded) => void discarded.return());
    },
    onError: (_connection, _id, _payload, errors) =>
      errors.map((error) =>
        formatError(formatting, 'toJSON' in error ? error.toJSON() : error, error),
      ),
  });
}

/**
 * The operations of a socket that have no result yet. A client may complete an operation and reuse
 * its id before the result is there. graphql-ws would then take the first result for that of the
 * second operation, and never end the second. So the result of an operation whose id is reused
 * never arrives.
 */
class PendingOperations {
  readonly #newest = new Map<string, symbol>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The result. When the id is reused, `discard` gets the result and the promise stays pending. */
  async run<Result>(
    id: string,
    operation: Promise<Result>,
    discard: (result: Result) => void = () => undefined,
  ): Promise<Result> {
    const own = Symbol(id);
    this.#newest.set(id, own);
    this.#size++;
    let isReused = false;
    let result: Result;
    try {
      result = await operation;
    } finally {
      this.#size--;
      isReused = this.#newest.get(id) !== own;
      if (!isReused) this.#newest.delete(id);
    }
    if (!isReused) return result;
    discard(result);
    return await never();
  }
}

type Step = IteratorResult<ExecutionResult, undefined>;
const DONE: Step = { done: true, value: undefined };

/**
 * The begin of each `next` message. Results bypass graphql-ws, which would make their text in one
 * piece: it sees an iterator without results, and sends `complete` when the iterator ends. An
 * iterator whose client has completed the operation never ends: another may have its id by then.
 */
function prefixOf(id: string): string {
  return `{"id":${JSON.stringify(id)},"type":"next","payload":`;
}

const TOO_MUCH_UNREAD = errorBody('RATE_LIMITED', UNREAD);

/** The one result of an operation; a refusal instead of a long one when too much is unread. */
class Answer implements AsyncIterableIterator<ExecutionResult, undefined> {
  readonly #prefix: string;
  readonly #session: Session;
  /** not kept longer than it takes to send it */
  #text: string;
  #isOver = false;

  constructor(id: string, text: string, session: Session) {
    this.#prefix = prefixOf(id);
    this.#text = text;
    this.#session = session;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<Step> {
    const { socket, unread } = this.#session;
    const text = this.#text;
    this.#text = '';
    const before = isLong(text) ? unread() : 0;
    const fits = before === 0 || before + text.length <= LONG_BYTES_PER_CLIENT;
    const sent = socket.send(this.#prefix, fits ? text : TOO_MUCH_UNREAD);
    return sent.then(() => (this.#isOver ? never() : DONE));
  }

  return(): Promise<Step> {
    this.#isOver = true;
    return Promise.resolve(DONE);
  }
}

/** One subscription of one socket. */
class Deliveries implements AsyncIterableIterator<ExecutionResult, undefined>, Subscriber {
  readonly #subscription: Subscription;
  readonly #socket: BackpressuredSocket;
  readonly #prefix: string;

  constructor(id: string, subscription: Subscription, socket: BackpressuredSocket) {
    this.#subscription = subscription;
    this.#socket = socket;
    this.#prefix = prefixOf(id);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<Step> {
    this.#subscription.start(this);
    return never();
  }

  return(): Promise<Step> {
    this.#subscription.stop();
    this.#socket.forget(this.#prefix);
    return Promise.resolve(DONE);
  }

  deliver(payload: Payload): void {
    this.#socket.deliver(this.#prefix, payload, () => this.#subscription.latest());
  }
}

function never(): Promise<never> {
  return new Promise(() => undefined);
}

/** The context that `prepare` made. */
function contextOf({ contextValue }: ExecutionArgs): OperationContext {
  if (!isOperationContext(contextValue)) throw new TypeError('an operation without its context');
  return contextValue;
}

function isOperationContext(value: unknown): value is OperationContext {
  return typeof value === 'object' && value !== null && 'session' in value && 'key' in value;
}

function rateLimited(message: string): Refused {
  return new Refused('RATE_LIMITED', message);
}

/** In Apollo's words. */
function unknownOperation(name: string | null | undefined): GraphQLError {
  const message =
    name === null || name === undefined
      ? 'Must provide operation name if query contains multiple operations.'
      : 'There is no operation of this name in the document.';
  return withCode(new GraphQLError(message), 'OPERATION_RESOLUTION_FAILURE');
}
