/** graphql-transport-ws, which graphql-ws speaks: what is the hub's own about it are its hooks. */
import { createHash } from 'node:crypto';
import {
  execute,
  getOperationAST,
  getVariableValues,
  GraphQLError,
  type DocumentNode,
  type ExecutionArgs,
  type ExecutionResult,
  type FormattedExecutionResult,
  type GraphQLSchema,
} from 'graphql';
import { makeServer, type Context, type Server, type SubscribePayload } from 'graphql-ws';
import { callerOf, type TokenSettings } from '../http/callers.ts';
import { coded, ERRORS_MAX, type Documents } from '../graphql/documents.ts';
import { Refused, shownError, type Formatting } from '../graphql/errors.ts';
import type { Groups } from './groups.ts';
import type { Hub, HubContext } from '../hub.ts';
import type { Outlet } from './outlet.ts';
import type { Running } from '../graphql/running.ts';
import { Subscriber } from './subscriber.ts';
import { Truncation } from '../graphql/truncation.ts';

export interface SocketExtra {
  readonly outlet: Outlet;
  /** ms after which an operation may begin; 0: now */
  readonly wait: () => number;
  readonly running: Running;
}

export interface ProtocolOptions {
  readonly schema: GraphQLSchema;
  readonly hub: Hub;
  readonly documents: Documents;
  readonly groups: Groups;
  readonly formatting: Formatting;
  readonly tokens: TokenSettings;
  readonly socket_operations_max: number;
  readonly socket_init_ms: number;
  /** Unix milliseconds */
  readonly now: () => number;
}

type Socket = Context<Record<string, unknown>, SocketExtra>;

/** Of a subscription: what stays as long as it does. */
const SUBSCRIPTION_CHARACTERS_MAX = 8_192;
const KEY_CHARACTERS_MAX = 256;

interface Ticket extends HubContext {
  readonly id: string;
  readonly socket: SocketExtra;
  readonly truncation: Truncation;
  /** what makes two subscriptions one: no caller, since none of them shows anything that is somebody's own */
  readonly key: string;
}

export function socketProtocol(options: ProtocolOptions): Server<SocketExtra> {
  const { schema, hub, documents, groups, formatting, tokens, now } = options;

  const begin = async (
    { extra, connectionParams, subscriptions }: Socket,
    id: string,
    payload: SubscribePayload,
  ): Promise<Begun> => {
    if (
      Object.keys(subscriptions).length > options.socket_operations_max ||
      extra.running.count >= options.socket_operations_max
    ) {
      return [
        new Refused(
          'RATE_LIMITED',
          `at most ${options.socket_operations_max} operations at once on a socket`,
        ),
      ];
    }
    const wait = extra.wait();
    if (wait > 0)
      return [
        new Refused(
          'RATE_LIMITED',
          `too many operations: try again in ${Math.ceil(wait / 1_000)} s`,
        ),
      ];
    const { query, operationName, variables } = payload;
    const document = documents.read(query);
    if (!isDocument(document)) return document;
    const operation = getOperationAST(document, operationName);
    if (operation === null || operation === undefined) return [unknownOperation(operationName)];
    const { coerced, errors } = getVariableValues(
      schema,
      operation.variableDefinitions ?? [],
      variables ?? {},
      { maxErrors: ERRORS_MAX },
    );
    if (coerced === undefined) return errors.map((error) => coded(error, 'BAD_USER_INPUT'));
    const caller = await callerOf(connectionParams?.['Authorization'], tokens, now());
    const truncation = new Truncation();
    const key = JSON.stringify([operationName ?? null, coerced, query]);
    const contextValue: Ticket = {
      hub,
      caller,
      cut: truncation.cut,
      truncation,
      id,
      socket: extra,
      key,
    };
    return { schema, document, operationName, variableValues: coerced, contextValue };
  };

  const subscribe = async (args: ExecutionArgs): Promise<Subscriber | ExecutionResult> => {
    const { key, id, socket } = ticketOf(args);
    if (key.length > SUBSCRIPTION_CHARACTERS_MAX) {
      return {
        errors: [
          new Refused(
            'BAD_USER_INPUT',
            `a subscription and its variables may have ${SUBSCRIPTION_CHARACTERS_MAX} characters`,
          ),
        ],
      };
    }
    const name =
      key.length <= KEY_CHARACTERS_MAX ? key : createHash('sha256').update(key).digest('base64');
    const { document, operationName, variableValues } = args;
    const entering = groups.enter(name, {
      document,
      operationName: operationName ?? undefined,
      variables: variableValues ?? {},
    });
    const subscribed = entering.then((entered) =>
      'join' in entered ? new Subscriber(id, entered, socket.outlet) : entered,
    );
    return await socket.running.resultOf(id, subscribed, (unwanted) => {
      if (unwanted instanceof Subscriber) void unwanted.return();
    });
  };
  const shown = (errors: readonly GraphQLError[]): ReturnType<typeof shownError>[] =>
    errors.map((error) => shownError(formatting, error.toJSON(), error));

  return makeServer<Record<string, unknown>, SocketExtra>({
    connectionInitWaitTimeout: options.socket_init_ms,
    onSubscribe: begin,
    execute: executeOnce,
    subscribe,
    onNext: (_ctx, _id, _payload, _args, result): FormattedExecutionResult | undefined => {
      if (result.errors === undefined) return undefined;
      const { data, extensions } = result;
      return {
        errors: shown(result.errors),
        ...(data === undefined ? {} : { data }),
        ...(extensions === undefined ? {} : { extensions }),
      };
    },
    onError: (_ctx, _id, _payload, errors) =>
      errors.map((error) =>
        shownError(formatting, 'toJSON' in error ? error.toJSON() : error, error),
      ),
  });
}

type Begun = ExecutionArgs | readonly GraphQLError[];

function isDocument(read: DocumentNode | readonly GraphQLError[]): read is DocumentNode {
  return 'kind' in read;
}

async function executeOnce(args: ExecutionArgs): Promise<ExecutionResult> {
  const { id, socket, truncation } = ticketOf(args);
  return truncation.told(await socket.running.resultOf(id, Promise.resolve(execute(args))));
}

/** The context that `begin` made. */
function ticketOf({ contextValue }: ExecutionArgs): Ticket {
  if (!isTicket(contextValue)) throw new TypeError('an operation without its ticket');
  return contextValue;
}

function isTicket(value: unknown): value is Ticket {
  return typeof value === 'object' && value !== null && 'key' in value && 'truncation' in value;
}

/** In Apollo's words. */
function unknownOperation(name: string | null | undefined): GraphQLError {
  const message =
    name === null || name === undefined
      ? 'Must provide operation name if query contains multiple operations.'
      : 'There is no operation of this name in the document.';
  return coded(new GraphQLError(message), 'OPERATION_RESOLUTION_FAILURE');
}
