/**
 * The pipeline of all operations, over HTTP and over sockets: a document is read once (parsed,
 * validated, limited and cached by `documents.ts`), Apollo Server executes it, and its plugin here
 * ends the reading of lists and names those that are truncated. Subscriptions are executed by it
 * anew after each change.
 */
import { performance } from 'node:perf_hooks';
import { ApolloServer, HeaderMap, type ApolloServerPlugin } from '@apollo/server';
import {
  ApolloServerPluginCacheControlDisabled,
  ApolloServerPluginLandingPageDisabled,
} from '@apollo/server/plugin/disabled';
import {
  getOperationAST,
  GraphQLError,
  Kind,
  OperationTypeNode,
  parse,
  type DocumentNode,
  type FormattedExecutionResult,
  type GraphQLFormattedError,
  type GraphQLSchema,
  type OperationDefinitionNode,
} from 'graphql';
import { AT_HEAD } from '../../runtime/http/answer.ts';
import type { Clients } from '../../runtime/limits/clients.ts';
import type { Metrics } from '../../runtime/process/metrics.ts';
import { Truncation, type Dependency, type Hub, type HubContext } from './context.ts';
import { documentLimits } from '../../runtime/limits/documents.ts';
import type { Limit } from '../../runtime/limits/limits.ts';
import { Documents, withCode } from './documents.ts';
import { SOCKET_PATH } from '../config.ts';
import { formatError, type ErrorFormatting } from './errors.ts';
import { ListReader, type ListSources } from './list-reader.ts';
import { textOfResult } from './result-text.ts';

/** A valid document, or its errors; undefined: there is no text, which Apollo refuses. */
export type Read = DocumentNode | readonly GraphQLError[] | undefined;

export interface Operation {
  readonly document: DocumentNode;
  readonly operationName?: string | null | undefined;
  readonly variables?: Readonly<Record<string, unknown>> | null | undefined;
}

/** Who asks, and what an execution tells of itself. */
export interface Asker extends Pick<HubContext, 'caller' | 'client'> {
  /** every client that the result is for, when a list is read */
  readonly clients: () => Clients;
  /** where lists are read; default: the hub's */
  readonly sources?: ListSources;
  readonly dependsOn?: (dependency: Dependency) => void;
  /** called when anonymous callers may share the result */
  readonly shares?: () => void;
  /** called when a limit of the client refused a part of it */
  readonly refuses?: () => void;
}

/** Apollo passes on a copy, of which each object is the same. */
export interface OperationContext extends Omit<HubContext, 'lists'> {
  readonly read: Read;
  readonly format: Pipeline['format'];
  readonly lists: ListReader;
  readonly shares: (() => void) | undefined;
  readonly refuses: (() => void) | undefined;
}

export interface PipelineOptions {
  readonly schema: GraphQLSchema;
  readonly hub: Hub;
  readonly formatting: ErrorFormatting;
  /** whether the schema can be queried */
  readonly introspection: boolean;
  readonly metrics: Metrics;
  /** of documents; default: on, and not counted */
  readonly limit?: Limit;
}

/** Apollo needs a text besides the document, and does not read it. */
const READ_BEFORE = 'read before';
/** In place of a document that has errors. */
const REFUSED = parse('{ __typename }');
export const SUBSCRIPTIONS_HERE = `subscriptions are at ${SOCKET_PATH}, by WebSocket with the subprotocol graphql-transport-ws, for example with the package graphql-ws`;
const SOCKETS_ONLY: Read = [withCode(new GraphQLError(SUBSCRIPTIONS_HERE), 'BAD_USER_INPUT')];

export class Pipeline {
  readonly documents: Documents;
  /** for its Express middleware */
  readonly server: ApolloServer<OperationContext>;
  readonly #hub: Hub;
  readonly #formatting: ErrorFormatting;

  constructor({ schema, hub, formatting, introspection, metrics, limit }: PipelineOptions) {
    this.#hub = hub;
    this.#formatting = formatting;
    const limits = documentLimits(limit);
    this.documents = new Documents(schema, introspection, limits);
    this.server = new ApolloServer<OperationContext>({
      schema,
      introspection,
      // no cookie says who asks, and a mutation is never a GET: another site's form does nothing
      csrfPrevention: false,
      documentStore: null,
      allowBatchedHttpRequests: false,
      stopOnTerminationSignals: false,
      includeStacktraceInErrorResponses: false,
      persistedQueries: false,
      stringifyResult: async (result) => `${await textOfResult(result)}\n`,
      executionOptions:
        limits.variables.maxErrors === undefined
          ? {}
          : { maxCoercionErrors: limits.variables.maxErrors },
      formatError: (formatted, error) => formatError(formatting, formatted, error),
      // errors are logged where they are formatted
      logger: { debug: ignore, info: ignore, warn: ignore, error: ignore },
      plugins: [
        // it wraps every field, for a header that no client uses
        ApolloServerPluginCacheControlDisabled(),
        ApolloServerPluginLandingPageDisabled(),
        operationPlugin,
        operationTimes(metrics),
      ],
    });
  }

  start(): Promise<void> {
    return this.server.start();
  }

  stop(): Promise<void> {
    return this.server.stop();
  }

  /** The document of an operation over HTTP, where Apollo would execute a subscription once. */
  readOverHttp(text: string, operationName: unknown): Read {
    const read = this.documents.read(text);
    if (!isDocument(read)) return read;
    const name = typeof operationName === 'string' ? operationName : undefined;
    const isSubscription =
      getOperationAST(read, name)?.operation === OperationTypeNode.SUBSCRIPTION;
    return isSubscription ? SOCKETS_ONLY : read;
  }

  /** Errors as they are sent. */
  format(errors: readonly GraphQLError[]): readonly GraphQLFormattedError[] {
    return errors.map((error) => formatError(this.#formatting, error.toJSON(), error));
  }

  contextOf(
    { caller, client, clients, sources = this.#hub, dependsOn, shares, refuses }: Asker,
    read: Read,
  ): OperationContext {
    return {
      hub: this.#hub,
      caller,
      client,
      read,
      format: (errors) => this.format(errors),
      lists: new ListReader(sources, clients),
      truncation: new Truncation(),
      ...(dependsOn && { dependsOn }),
      shares,
      refuses,
    };
  }

  /** The result, its errors as they are sent. */
  async execute(
    { document, operationName, variables }: Operation,
    asker: Asker,
  ): Promise<FormattedExecutionResult> {
    const { body } = await this.server.executeOperation(
      {
        query: READ_BEFORE,
        ...(typeof operationName === 'string' && { operationName }),
        ...(variables && { variables }),
      },
      { contextValue: this.contextOf(asker, document) },
    );
    if (body.kind !== 'single') throw new TypeError('a result came in parts');
    return body.singleResult;
  }
}

function ignore(): void {
  // silent
}

function isDocument(read: Read): read is DocumentNode {
  return read !== undefined && 'kind' in read;
}

/**
 * Gives Apollo the document that was read, or answers with its errors; ends the reading of lists,
 * and adds the names of those that are truncated. The result of an anonymous query without errors
 * is shared: a field that depends on the caller is an error for anonymous callers. Caches may keep
 * it when it was asked for by GET.
 */
const operationPlugin: ApolloServerPlugin<OperationContext> = {
  requestDidStart: ({ contextValue }) =>
    Promise.resolve({
      didResolveSource: (context) => {
        const { read } = contextValue;
        if (read !== undefined)
          Object.assign(context, { document: isDocument(read) ? read : REFUSED });
        return Promise.resolve();
      },
      responseForOperation: () => {
        const { read, format } = contextValue;
        if (read === undefined || isDocument(read)) return Promise.resolve(null);
        const singleResult = { errors: format(read) };
        const http = { status: 400, headers: new HeaderMap() };
        return Promise.resolve({ http, body: { kind: 'single', singleResult } });
      },
      willSendResponse: ({ operation, request, response: { body, http } }) => {
        const { caller, lists, shares, refuses, truncation } = contextValue;
        lists.close();
        if (body.kind !== 'single') return Promise.resolve();
        const { extensions } = truncation;
        if (extensions !== undefined) body.singleResult.extensions = extensions;
        const { errors } = body.singleResult;
        if (errors?.some((error) => error.extensions?.['code'] === 'RATE_LIMITED')) refuses?.();
        const isShared =
          operation?.operation === OperationTypeNode.QUERY &&
          caller === undefined &&
          errors === undefined;
        if (!isShared || shares === undefined) return Promise.resolve();
        shares();
        if (request.http?.method === 'GET')
          http.headers.set('cache-control', AT_HEAD).set('vary', 'accept');
        return Promise.resolve();
      },
    }),
};

/**
 * Observes the duration of operations by their root field. A label is a field of the schema,
 * `several` or `refused`, so callers cannot add labels. Cached responses are counted elsewhere.
 */
export function operationTimes(metrics: Metrics): ApolloServerPlugin<Partial<OperationContext>> {
  const seconds = metrics.histogram(
    'hub_operation_seconds',
    'Duration of operations, by root field and outcome',
    ['operation', 'outcome'],
  );
  return {
    requestDidStart() {
      const startedAt = performance.now();
      // the operation's field is only known to exist once it is validated
      let field = 'refused';
      return Promise.resolve({
        didResolveOperation({ document, operation }) {
          if (operation !== undefined && document !== REFUSED) field = rootField(operation);
          return Promise.resolve();
        },
        willSendResponse({ response: { body } }) {
          const failed = body.kind === 'single' && body.singleResult.errors !== undefined;
          seconds.observe(
            { operation: field, outcome: failed ? 'error' : 'ok' },
            (performance.now() - startedAt) / 1_000,
          );
          return Promise.resolve();
        },
      });
    },
  };
}

function rootField({ selectionSet: { selections } }: OperationDefinitionNode): string {
  const [first, ...more] = selections;
  return first?.kind === Kind.FIELD && more.length === 0 ? first.name.value : 'several';
}
