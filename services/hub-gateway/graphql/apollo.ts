/** Apollo Server, which is the one implementation of GraphQL over HTTP here: what it answers to a request, as values. */
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
import { OperationTypeNode, type GraphQLFormattedError, type GraphQLSchema } from 'graphql';
import type { IncomingHttpHeaders } from 'node:http';
import type { HttpResponse } from '../../runtime/http/handler.ts';
import type { Documents } from './documents.ts';
import { shownError, type Formatting } from './errors.ts';
import { explorePage } from '../http/explore-page.ts';
import type { HubContext } from '../hub.ts';
import { operationLimits, TOKENS_MAX } from '../http/limits.ts';
import { HUB_SDL } from './schema.ts';
import { Truncation } from './truncation.ts';

/** Of one request. */
interface HttpContext extends HubContext {
  /** `keep` is set when the answer depends on nothing but the read model. Apollo hands on copies of the context: what is to be told must be inside. */
  readonly told: { keep: boolean; readonly truncation: Truncation };
}

export interface ApolloOptions {
  readonly schema: GraphQLSchema;
  readonly formatting: Formatting;
  /** whether the schema may be asked for, and the page to explore it is there */
  readonly introspection: boolean;
  readonly documents: Documents;
  /** those who watch */
  readonly plugins?: readonly ApolloServerPlugin<HubContext>[];
}

export interface HttpRequest {
  readonly method: 'GET' | 'POST';
  readonly headers: IncomingHttpHeaders;
  /** with its question mark, or empty */
  readonly search: string;
  /** parsed JSON */
  readonly body: unknown;
}

export interface Answer {
  readonly answer: HttpResponse;
  /** whether every anonymous request with the same body gets the same response */
  readonly isShared: boolean;
}

export class Apollo {
  readonly #server: ApolloServer<HttpContext>;
  readonly #documents: Documents;
  readonly #formatting: Formatting;

  constructor({ schema, formatting, introspection, documents, plugins = [] }: ApolloOptions) {
    this.#documents = documents;
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
      parseOptions: { maxTokens: TOKENS_MAX },
      validationRules: [operationLimits],
      formatError: (formatted, error) => shownError(formatting, formatted, error),
      logger: silent,
      plugins: [
        // it would wrap each field, for a header that nobody here wants
        ApolloServerPluginCacheControlDisabled(),
        introspection ? explorable : ApolloServerPluginLandingPageDisabled(),
        marking,
        ...plugins,
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
    { method, headers, search, body }: HttpRequest,
    context: HubContext,
  ): Promise<Answer> {
    const problems = this.#problemsOfSubscription(body, search);
    if (problems.length > 0)
      return {
        answer: { status: 400, body: JSON.stringify({ errors: problems }) },
        isShared: false,
      };
    const truncation = new Truncation();
    const told = { keep: false, truncation };
    const own: HttpContext = { ...context, cut: truncation.cut, told };
    const httpGraphQLRequest: HTTPGraphQLRequest = {
      method,
      headers: headerMap(headers),
      search,
      body,
    };
    const response = await this.#server.executeHTTPGraphQLRequest({
      httpGraphQLRequest,
      context: () => Promise.resolve(own),
    });
    const { 'content-type': type, ...others } = Object.fromEntries(response.headers);
    const text =
      response.body.kind === 'complete' ? response.body.string : response.body.asyncIterator;
    const answer: HttpResponse = {
      status: response.status ?? 200,
      body: text,
      ...(type === undefined ? {} : { content_type: type }),
      headers: others,
    };
    return { answer, isShared: told.keep };
  }

  /** There are wrong subscriptions over which graphql-js throws in the middle of validation, which Apollo takes for a fault of ours. Right ones it refuses, in its own words. */
  #problemsOfSubscription(body: unknown, search: string): readonly GraphQLFormattedError[] {
    const query = queryIn(body, search);
    if (typeof query !== 'string' || !query.includes('subscription')) return [];
    const read = this.#documents.read(query);
    return 'kind' in read
      ? []
      : read.map((error) => shownError(this.#formatting, error.toJSON(), error));
  }
}

function queryIn(body: unknown, search: string): unknown {
  if (body === undefined) return new URLSearchParams(search).get('query');
  return typeof body === 'object' && body !== null && 'query' in body ? body.query : undefined;
}

/** What goes wrong is logged where errors are formatted. */
const silent = { debug: ignore, info: ignore, warn: ignore, error: ignore };
function ignore(): void {
  // said elsewhere
}

/** Lists that are not whole are told of. And a query without errors had no part that asks who is asking: such a field is an error for whoever comes without a token. */
const marking: ApolloServerPlugin<HttpContext> = {
  requestDidStart: () =>
    Promise.resolve({
      willSendResponse: ({ operation, response, contextValue }) => {
        const { body } = response;
        const { extensions } = contextValue.told.truncation;
        if (body.kind === 'single' && extensions !== undefined)
          body.singleResult.extensions = extensions;
        contextValue.told.keep =
          operation?.operation === OperationTypeNode.QUERY &&
          contextValue.caller === undefined &&
          body.kind === 'single' &&
          body.singleResult.errors === undefined;
        return Promise.resolve();
      },
    }),
};

const explorable: ApolloServerPlugin<HttpContext> = {
  serverWillStart: () =>
    Promise.resolve({ renderLandingPage: () => Promise.resolve({ html: explorePage(HUB_SDL) }) }),
};

function headerMap(headers: IncomingHttpHeaders): HeaderMap {
  const map = new HeaderMap();
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) map.set(name, Array.isArray(value) ? value.join(', ') : value);
  }
  return map;
}
