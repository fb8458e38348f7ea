/** Apollo Server behind the HTTP routes: GraphQL requests in, HTTP responses out. */
import { performance } from 'node:perf_hooks';
import type { IncomingHttpHeaders } from 'node:http';
import {
  ApolloServer,
  HeaderMap,
  type ApolloServerPlugin,
  type HTTPGraphQLRequest,
} from '@apollo/server';
import {
  ApolloServerPluginCacheControlDisabled,
  ApolloServerPluginLandingPageDisabled,
} from '@apollo/server/plugin/disabled';
import {
  Kind,
  OperationTypeNode,
  type GraphQLFormattedError,
  type GraphQLSchema,
  type OperationDefinitionNode,
} from 'graphql';
import type { Made } from '../../runtime/http/answer-cache.ts';
import type { HttpResponse } from '../../runtime/http/handler.ts';
import type { Metrics } from '../../runtime/process/metrics.ts';
import { Truncation, type HubContext } from './context.ts';
import { operationLimits, TOKENS_MAX, VARIABLE_ERRORS_MAX, type Documents } from './documents.ts';
import { formatError, type ErrorFormatting } from './errors.ts';
import { ListReader } from './list-reader.ts';
import { textOfResult } from './result-text.ts';
import type { Clients } from './turns.ts';

/** Apollo passes on copies of the context, so a plugin's result goes into an object inside. */
interface HttpContext extends HubContext {
  readonly response: { isShared: boolean };
}

export interface ApolloOptions {
  readonly schema: GraphQLSchema;
  readonly formatting: ErrorFormatting;
  /** whether the schema can be queried and browsers get a page */
  readonly introspection: boolean;
  readonly documents: Documents;
  readonly metrics: Metrics;
}

export interface GraphqlRequest {
  readonly method: 'GET' | 'POST';
  readonly headers: IncomingHttpHeaders;
  /** with its question mark, or empty */
  readonly search: string;
  /** parsed JSON */
  readonly body: unknown;
}

/** Who asks. `clients`: all that the answer is for. */
export interface Asker extends Pick<HubContext, 'caller'> {
  readonly client: string;
  readonly clients: Clients;
}

export class Apollo {
  readonly #server: ApolloServer<HttpContext>;
  readonly #documents: Documents;
  readonly #formatting: ErrorFormatting;

  constructor(options: ApolloOptions) {
    const { schema, formatting, introspection } = options;
    this.#documents = options.documents;
    this.#formatting = formatting;
    this.#server = new ApolloServer<HttpContext>({
      schema,
      introspection,
      csrfPrevention: true,
      cache: 'bounded',
      allowBatchedHttpRequests: false,
      stopOnTerminationSignals: false,
      includeStacktraceInErrorResponses: false,
      persistedQueries: false,
      stringifyResult: async (result) => `${await textOfResult(result)}\n`,
      parseOptions: { maxTokens: TOKENS_MAX },
      executionOptions: { maxCoercionErrors: VARIABLE_ERRORS_MAX },
      validationRules: [operationLimits],
      formatError: (formatted, error) => formatError(formatting, formatted, error),
      // errors are logged where they are formatted
      logger: { debug: ignore, info: ignore, warn: ignore, error: ignore },
      plugins: [
        // it wraps every field, for a header that no client uses
        ApolloServerPluginCacheControlDisabled(),
        introspection ? landingPage : ApolloServerPluginLandingPageDisabled(),
        responseMarks,
        operationTimes(options.metrics),
      ],
    });
  }

  start(): Promise<void> {
    return this.#server.start();
  }

  stop(): Promise<void> {
    return this.#server.stop();
  }

  async answer(
    { method, headers, search, body }: GraphqlRequest,
    context: Pick<HubContext, 'hub'> & Asker,
  ): Promise<Made> {
    const errors = this.#subscriptionErrors(body, search);
    if (errors.length > 0)
      return { answer: { status: 400, body: JSON.stringify({ errors }) }, isShared: false };
    const httpGraphQLRequest: HTTPGraphQLRequest = {
      method,
      headers: headerMap(headers),
      search,
      body,
    };
    const lists = new ListReader(context.hub, () => context.clients);
    const contextValue = {
      ...context,
      lists,
      truncation: new Truncation(),
      response: { isShared: false },
    };
    const executed = this.#server.executeHTTPGraphQLRequest({
      httpGraphQLRequest,
      context: () => Promise.resolve(contextValue),
    });
    const response = await executed.finally(() => lists.close());
    const { 'content-type': type, ...others } = Object.fromEntries(response.headers);
    const answer: HttpResponse = {
      status: response.status ?? 200,
      body: response.body.kind === 'complete' ? response.body.string : response.body.asyncIterator,
      ...(type === undefined ? {} : { content_type: type }),
      headers: others,
    };
    return { answer, isShared: contextValue.response.isShared };
  }

  /**
   * Errors of an invalid subscription. graphql-js throws some of them during validation, which
   * Apollo reports as a fault of the server. Apollo refuses valid subscriptions itself.
   */
  #subscriptionErrors(body: unknown, search: string): readonly GraphQLFormattedError[] {
    const query = queryIn(body, search);
    if (typeof query !== 'string' || !query.includes('subscription')) return [];
    const read = this.#documents.read(query);
    return 'kind' in read
      ? []
      : read.map((error) => formatError(this.#formatting, error.toJSON(), error));
  }
}

function queryIn(body: unknown, search: string): unknown {
  if (body === undefined) return new URLSearchParams(search).get('query');
  return typeof body === 'object' && body !== null && 'query' in body ? body.query : undefined;
}

function headerMap(headers: IncomingHttpHeaders): HeaderMap {
  const map = new HeaderMap();
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) map.set(name, Array.isArray(value) ? value.join(', ') : value);
  }
  return map;
}

function ignore(): void {
  // silent
}

/**
 * Adds the names of truncated lists. Marks the response to an anonymous query without errors as
 * shared: a field that depends on the caller is an error for anonymous callers.
 */
const responseMarks: ApolloServerPlugin<HttpContext> = {
  requestDidStart: () =>
    Promise.resolve({
      willSendResponse: ({ operation, response: { body }, contextValue }) => {
        if (body.kind !== 'single') return Promise.resolve();
        const { extensions } = contextValue.truncation;
        if (extensions !== undefined) body.singleResult.extensions = extensions;
        contextValue.response.isShared =
          operation?.operation === OperationTypeNode.QUERY &&
          contextValue.caller === undefined &&
          body.singleResult.errors === undefined;
        return Promise.resolve();
      },
    }),
};

/** Apollo recognizes browsers; the HTTP route sends them its page. */
const landingPage: ApolloServerPlugin = {
  serverWillStart: () =>
    Promise.resolve({ renderLandingPage: () => Promise.resolve({ html: '' }) }),
};

/**
 * Observes the duration of operations by their root field. A label is a field of the schema,
 * `several` or `refused`, so callers cannot add labels. Cached responses are counted elsewhere.
 */
export function operationTimes(metrics: Metrics): ApolloServerPlugin {
  const seconds = metrics.histogram(
    'hub_operation_seconds',
    'Duration of operations over HTTP, by root field and outcome',
    ['operation', 'outcome'],
  );
  return {
    requestDidStart() {
      const startedAt = performance.now();
      // the operation's field is only known to exist once it is validated
      let field = 'refused';
      return Promise.resolve({
        didResolveOperation({ operation }) {
          if (operation !== undefined) field = rootField(operation);
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
