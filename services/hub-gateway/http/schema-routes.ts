/** The page at `/`, and the schema as a file where introspection would tell it as well. */
import { consoleLink, landingRoute, text } from '../../runtime/http/document-routes.ts';
import type { GetRoute } from '../../runtime/http/handler.ts';
import { GRAPHQL_PATH } from '../config.ts';
import { HUB_SDL } from '../graphql/schema.ts';

const SCHEMA_PATH = '/schema.graphql';

export function schemaRoutes(introspection: boolean, console_url?: string): readonly GetRoute[] {
  return [
    landingRoute({
      title: 'CLT hub',
      summary: 'Sign-in, the ride market, balances and transactions of the CLT chain, by GraphQL',
      links: {
        [GRAPHQL_PATH]: 'the interface',
        ...(introspection && { [SCHEMA_PATH]: 'its schema' }),
        ...consoleLink(console_url),
      },
    }),
    ...(introspection ? [text(SCHEMA_PATH, 'text/plain; charset=utf-8', HUB_SDL)] : []),
  ];
}
