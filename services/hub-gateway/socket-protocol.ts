/** graphql-transport-ws, which graphql-ws speaks: what is the hub's own about it are its hooks. */
import { createHash } from 'node:crypto';
import {
  execute,
  type GraphQLError,
  type DocumentNode,
  type ExecutionArgs,
  type ExecutionResult,
  type FormattedExecutionResult,
  type GraphQLSchema,
} from 'graphql';
import { makeServer, type Context, type Server, type SubscribePayload } from 'graphql-ws';
import { callerOf, type TokenSettings } from './callers.ts';
import type { Documents } from './documents.ts';
import { Refused, shownError, type Formatting } from './errors.ts';
import type { Groups } from './groups.ts';
import type { Hub, HubContext } from './hub.ts';
import type { Outlet } from './outlet.ts';
import { Subscriber } from './subscriber.ts';

export interface SocketExtra {
  readonly outlet: Outlet;
  /** ms after which an operation may begin; 0: now */
  readonly wait: () => number;
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
  readonly outlet: Outlet;
  readonly key: string;
}

export function socketProtocol(options: ProtocolOptions): Server<SocketExtra> {
  const { schema, hub, documents, groups, formatting, tokens, now } = options;

  const begin = ({ extra, connectionParams, subscriptions }: Socket, id: string, payload: SubscribePayload): Begun => {
    if (Object.keys(subscriptions).length > options.socket_operations_max) {
      return [new Refused('RATE_LIMITED', `at most ${options.socket_operations_max} operations at once on a socket`)];
    }
    const wait = extra.wait();
    if (wait > 0) return [new Refused('RATE_LIMITED', `too many operations: try again in ${Math.ceil(wait / 1_000)} s`)];
    const { query, operationName, variables } = payload;
    const document = documents.read(query);
    if (!isDocument(document)) return document;
    const caller = callerOf(connectionParams?.['Authorization'], tokens, now());
    const contextValue: Ticket = { hub, caller, id, outlet: extra.outlet, key: keyOf(payload) };
    return { schema, document, operationName, variableValues: variables, contextValue };
  };

  const subscribe = async ({
    document,
    operationName,
    variableValues,
    contextValue,
  }: ExecutionArgs): Promise<Subscriber | ExecutionResult> => {
    if (!isTicket(contextValue)) throw new TypeError('a subscription without its ticket');
    const { key, id, outlet } = contextValue;
    if (key.length > SUBSCRIPTION_CHARACTERS_MAX) {
      return {
        errors: [new Refused('BAD_USER_INPUT', `a subscription and its variables may have ${SUBSCRIPTION_CHARACTERS_MAX} characters`)],
      };
    }
    const name = key.length <= KEY_CHARACTERS_MAX ? key : createHash('sha256').update(key).digest('base64');
    const entered = await groups.enter(name, { document, operationName: operationName ?? undefined, variables: variableValues ?? {} });
    return 'join' in entered ? new Subscriber(id, entered, outlet) : entered;
  };
  const shown = (errors: readonly GraphQLError[]): ReturnType<typeof shownError>[] =>
    errors.map((error) => shownError(formatting, error.toJSON(), error));

  return makeServer<Record<string, unknown>, SocketExtra>({
    connectionInitWaitTimeout: options.socket_init_ms,
    onSubscribe: begin,
    execute: (args) => execute(args),
    subscribe,
    onNext: (_ctx, _id, _payload, _args, result): FormattedExecutionResult | undefined => {
      if (result.errors === undefined) return undefined;
      return { errors: shown(result.errors), ...(result.data === undefined ? {} : { data: result.data }) };
    },
    onError: (_ctx, _id, _payload, errors) =>
      errors.map((error) => shownError(formatting, 'toJSON' in error ? error.toJSON() : error, error)),
  });
}

type Begun = ExecutionArgs | readonly GraphQLError[];

function isDocument(read: DocumentNode | readonly GraphQLError[]): read is DocumentNode {
  return 'kind' in read;
}

function isTicket(value: unknown): value is Ticket {
  return typeof value === 'object' && value !== null && 'key' in value && 'outlet' in value;
}

/** What makes two subscriptions one: no caller, since none of them shows anything that is somebody's own. */
function keyOf({ query, operationName, variables }: SubscribePayload): string {
  return JSON.stringify([operationName ?? null, variables ?? null, query]);
}
