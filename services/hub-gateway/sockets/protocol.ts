/** The protocol graphql-transport-ws, by graphql-ws; its hooks admit and execute operations. */
import { createHash } from 'node:crypto';
import {
  getOperationAST,
  getVariableValues,
  GraphQLError,
  OperationTypeNode,
  type ExecutionArgs,
  type ExecutionResult,
  type FormattedExecutionResult,
  type GraphQLSchema,
} from 'graphql';
import { makeServer, type Context, type Server, type SubscribePayload } from 'graphql-ws';
import type { TokenSecrets } from '../../runtime/http/token.ts';
import { Clients, turnOf } from '../../runtime/limits/clients.ts';
import { VARIABLE_ERRORS_MAX } from '../../runtime/limits/documents.ts';
import { ON, type Limit } from '../../runtime/limits/limits.ts';
import { socketCallerOf, type Caller } from '../graphql/authentication.ts';
import { textOf, withCode } from '../graphql/documents.ts';
import { formatError, Refused, type ErrorFormatting } from '../graphql/errors.ts';
import type { Pipeline } from '../graphql/pipeline.ts';
import { textOfResult } from '../graphql/result-text.ts';
import type { BackpressuredSocket } from './backpressured-socket.ts';
import type {
  Payload,
  SharedSubscriptions,
  Subscriber,
  Subscription,
} from './shared-subscriptions.ts';

export interface ProtocolOptions {
  readonly schema: GraphQLSchema;
  readonly pipeline: Pick<Pipeline, 'documents' | 'execute'>;
  readonly subscriptions: SharedSubscriptions;
  readonly formatting: ErrorFormatting;
  readonly secrets: TokenSecrets;
  readonly socket_operations_max: number;
  readonly socket_init_ms: number;
  /** of operations on a socket; default: on, and not counted */
  readonly limit?: Limit;
  /** Unix milliseconds */
  readonly now: () => number;
}

/** One socket. */
export class Session {
  readonly socket: BackpressuredSocket;
  readonly client: string;
  /** ms after which an operation of this account may start; 0: now */
  readonly wait: (account: string | undefined) => number;
  /** the socket is closed */
  readonly left: AbortSignal;
  /** of its request, where clients of other servers have a token */
  readonly elsewhere: readonly unknown[];
  readonly pending = new PendingOperations();
  /** of the token in `connection_init` */
  caller: Caller | undefined;

  constructor(parts: Pick<Session, 'socket' | 'client' | 'wait' | 'left' | 'elsewhere'>) {
    ({ socket: this.socket, client: this.client, wait: this.wait, left: this.left } = parts);
    this.elsewhere = parts.elsewhere;
  }
}

type Connection = Context<Record<string, unknown>, Session>;

const KEY_CHARACTERS_MAX = 256;

interface SocketOperation {
  readonly id: string;
  readonly session: Session;
  /** undefined when the token has expired */
  readonly caller: Caller | undefined;
  /** identifies a subscription; without the caller, since no subscription shows private data */
  readonly text: string;
}

export function socketProtocol(options: ProtocolOptions): Server<Session> {
  const { schema, pipeline, subscriptions, formatting, now, limit = ON } = options;
  const { socket_operations_max: socketOperationsMax } = options;

  const prepare = (
    { extra: session, subscriptions: open }: Connection,
    id: string,
    { query, operationName, variables }: SubscribePayload,
  ): ExecutionArgs | readonly GraphQLError[] => {
    const isFull =
      Object.keys(open).length > socketOperationsMax || session.pending.size >= socketOperationsMax;
    if (isFull && limit.is_on) {
      limit.refused();
      return [rateLimited(`at most ${socketOperationsMax} operations at once on a socket`)];
    }
    const { caller: signedIn } = session;
    const isValid = signedIn !== undefined && now() < signedIn.expires_at * 1_000;
    const caller = isValid ? signedIn : undefined;
    const wait = session.wait(caller?.account);
    if (wait > 0) {
      const seconds = Math.ceil(wait / 1_000);
      return [rateLimited(`too many operations: try again in ${seconds} s`, seconds)];
    }
    const document = pipeline.documents.read(query);
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
    const isSubscription = operation.operation === OperationTypeNode.SUBSCRIPTION;
    const contextValue: SocketOperation = {
      id,
      session,
      caller,
      text: isSubscription ? JSON.stringify([textOf(document, operation), coerced]) : '',
    };
    return { schema, document, operationName, variableValues: coerced, contextValue };
  };

  return makeServer<Record<string, unknown>, Session>({
    connectionInitWaitTimeout: options.socket_init_ms,
    onConnect: async ({ extra: session, connectionParams = {} }) => {
      const { elsewhere } = session;
      const found = await socketCallerOf(connectionParams, elsewhere, options.secrets, now());
      session.caller = found.caller;
      return { ...found.told };
    },
    onSubscribe: (connection, id, payload) => prepare(connection, id, payload),
    execute: async (args: ExecutionArgs) => {
      const { id, session, caller } = operationOf(args);
      const { client, left } = session;
      const turn = turnOf(client, caller?.account);
      const clients = new Clients([turn]);
      const leave = (): void => clients.delete(turn);
      const executed = async (): Promise<Answer> => {
        left.addEventListener('abort', leave);
        const asker = { caller, client, clients: () => clients };
        const result = await pipeline.execute(given(args), asker);
        left.removeEventListener('abort', leave);
        return new Answer(id, await textOfResult(result), session);
      };
      return await session.pending.run(id, executed());
    },
    subscribe: async (args: ExecutionArgs) => {
      const { id, session, caller, text } = operationOf(args);
      const opened = async (): Promise<Deliveries | Answer | Refusal> => {
        const key = text.length <= KEY_CHARACTERS_MAX ? text : digestOf(text);
        const { client, left } = session;
        const holder = { client, account: caller?.account, left };
        const result = await subscriptions.open(key, given(args), holder);
        if ('start' in result) return new Deliveries(id, result, session.socket);
        const limited = limitIn(result);
        if (limited !== undefined) return new Refusal(limited);
        return new Answer(id, await textOfResult(result), session);
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

/** The one result of an operation. */
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
    const { socket } = this.#session;
    const text = this.#text;
    this.#text = '';
    return socket.send(this.#prefix, text).then(() => (this.#isOver ? never() : DONE));
  }

  return(): Promise<Step> {
    this.#isOver = true;
    return Promise.resolve(DONE);
  }
}

/** The end of an operation with an `error` message, which graphql-ws sends for what is thrown. */
class Refusal implements AsyncIterableIterator<ExecutionResult, undefined> {
  readonly #error: Refused;

  constructor(error: Refused) {
    this.#error = error;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<Step> {
    return Promise.reject(this.#error);
  }

  return(): Promise<Step> {
    return Promise.resolve(DONE);
  }
}

/** One subscription of one socket. */
class Deliveries implements AsyncIterableIterator<ExecutionResult, undefined>, Subscriber {
  readonly #subscription: Subscription;
  readonly #socket: BackpressuredSocket;
  readonly #prefix: string;
  readonly #ended = Promise.withResolvers<Step>();

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
    return this.#ended.promise;
  }

  return(): Promise<Step> {
    this.#subscription.stop();
    this.#socket.forget(this.#prefix);
    return Promise.resolve(DONE);
  }

  deliver(payload: Payload): void {
    this.#socket.deliver(this.#prefix, payload, () => this.#subscription.latest());
  }

  refuse(errors: FormattedExecutionResult): void {
    this.#socket.forget(this.#prefix);
    const limited = limitIn(errors);
    if (limited !== undefined) return this.#ended.reject(limited);
    const sent = this.#socket.send(this.#prefix, JSON.stringify(errors));
    return void sent.then(() => this.#ended.resolve(DONE));
  }
}

function never(): Promise<never> {
  return new Promise(() => undefined);
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('base64');
}

/** As the pipeline takes it. */
function given({ document, operationName, variableValues }: ExecutionArgs) {
  return { document, operationName, variables: variableValues };
}

/** The operation that `prepare` made. */
function operationOf({ contextValue }: ExecutionArgs): SocketOperation {
  if (!isSocketOperation(contextValue)) throw new TypeError('an operation was not prepared');
  return contextValue;
}

function isSocketOperation(value: unknown): value is SocketOperation {
  return typeof value === 'object' && value !== null && 'session' in value && 'text' in value;
}

/** An operation that a limit refuses ends with an `error` message, any other with its result. */
function limitIn({ errors: [error] = [] }: FormattedExecutionResult): Refused | undefined {
  return error?.extensions?.['code'] === 'RATE_LIMITED' ? rateLimited(error.message) : undefined;
}

function rateLimited(message: string, retryAfter?: number): Refused {
  return new Refused('RATE_LIMITED', message, retryAfter);
}

/** In Apollo's words. */
function unknownOperation(name: string | null | undefined): GraphQLError {
  const message =
    name === null || name === undefined
      ? 'Must provide operation name if query contains multiple operations.'
      : 'There is no operation of this name in the document.';
  return withCode(new GraphQLError(message), 'OPERATION_RESOLUTION_FAILURE');
}
