/** The protocol graphql-transport-ws, by graphql-ws; its hooks admit and execute operations. */
import { createHash } from 'node:crypto';
import {
  execute,
  getOperationAST,
  getVariableValues,
  GraphQLError,
  type ExecutionArgs,
  type ExecutionResult,
  type FormattedExecutionResult,
  type GraphQLSchema,
} from 'graphql';
import { makeServer, type Context, type Server, type SubscribePayload } from 'graphql-ws';
import { callerOf, type Caller } from '../graphql/authentication.ts';
import { Truncation, type Hub, type HubContext } from '../graphql/context.ts';
import { textOf, VARIABLE_ERRORS_MAX, withCode, type Documents } from '../graphql/documents.ts';
import { formatError, invalid, Refused, type ErrorFormatting } from '../graphql/errors.ts';
import { ListReader } from '../graphql/list-reader.ts';
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
  readonly pending = new PendingOperations();
  /** of the token in `connection_init` */
  caller: Caller | undefined;

  constructor(socket: BackpressuredSocket, client: string, wait: () => number) {
    this.socket = socket;
    this.client = client;
    this.wait = wait;
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

  const subscribe = async (args: ExecutionArgs): Promise<Deliveries | ExecutionResult> => {
    const { key: text, caller, id, session } = contextOf(args);
    if (text.length > SUBSCRIPTION_CHARACTERS_MAX) {
      const message = `a subscription and its variables may have ${SUBSCRIPTION_CHARACTERS_MAX} characters`;
      return { errors: [invalid(message)] };
    }
    const key =
      text.length <= KEY_CHARACTERS_MAX ? text : createHash('sha256').update(text).digest('base64');
    const { document, operationName, variableValues } = args;
    const opening = subscriptions.open(
      key,
      { document, operationName: operationName ?? undefined, variables: variableValues ?? {} },
      { client: session.client, account: caller?.account },
    );
    const opened = opening.then((subscription) =>
      'start' in subscription ? new Deliveries(id, subscription, session.socket) : subscription,
    );
    return await session.pending.run(id, opened, (discarded) => {
      if (discarded instanceof Deliveries) void discarded.return();
    });
  };

  return makeServer<Record<string, unknown>, Session>({
    connectionInitWaitTimeout: options.socket_init_ms,
    onConnect: async ({ extra: session, connectionParams }) => {
      const authorization = connectionParams?.['Authorization'];
      session.caller = await callerOf(authorization, options.jwt_secret, now());
      return true;
    },
    onSubscribe: (connection, id, payload) => prepare(connection, id, payload),
    execute: async (args: ExecutionArgs) => {
      const { id, lists, session, truncation } = contextOf(args);
      const executed = Promise.resolve(execute(args)).finally(() => lists.close());
      return truncation.extend(await session.pending.run(id, executed));
    },
    subscribe,
    onNext: (_connection, _id, _payload, _args, result): FormattedExecutionResult | undefined => {
      if (result.errors === undefined) return undefined;
      const { data, extensions } = result;
      return {
        errors: result.errors.map((error) => formatError(formatting, error.toJSON(), error)),
        ...(data === undefined ? {} : { data }),
        ...(extensions === undefined ? {} : { extensions }),
      };
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
    return await new Promise<never>(() => undefined);
  }
}

type Step = IteratorResult<ExecutionResult, undefined>;
const DONE: Step = { done: true, value: undefined };

/** One subscription of one socket. Results bypass graphql-ws, which sees an iterator that ends. */
class Deliveries implements AsyncIterableIterator<ExecutionResult, undefined>, Subscriber {
  readonly #subscription: Subscription;
  readonly #socket: BackpressuredSocket;
  /** of its messages */
  readonly #prefix: string;
  readonly #end = Promise.withResolvers<Step>();
  #isStarted = false;

  constructor(id: string, subscription: Subscription, socket: BackpressuredSocket) {
    this.#subscription = subscription;
    this.#socket = socket;
    this.#prefix = `{"id":${JSON.stringify(id)},"type":"next","payload":`;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<Step> {
    if (!this.#isStarted) {
      this.#isStarted = true;
      this.#subscription.start(this);
    }
    return this.#end.promise;
  }

  return(): Promise<Step> {
    this.#subscription.stop();
    this.#socket.forget(this.#prefix);
    this.#end.resolve(DONE);
    return Promise.resolve(DONE);
  }

  deliver(payload: Payload): void {
    this.#socket.deliver(this.#prefix, payload, () => this.#subscription.latest());
  }
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
