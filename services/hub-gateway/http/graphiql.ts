/** GraphiQL, for networks with introspection: one page that loads nothing from other servers. */
import { createHash } from 'node:crypto';
import type { HttpResponse } from '../../runtime/http/handler.ts';
import { GRAPHQL_PATH, SOCKET_PATH } from '../config.ts';

const EXAMPLE = `# Headers take the token of generateToken:
# {"Authorization": "Bearer <token>"}

query Market {
  chainInfo { chainId txFee totalSupply }
  listRideRequests { txHash fare passengerAddress }
}

subscription Requests {
  rideRequestsUpdated { txHash fare }
}
`;

const OPTIONS = {
  title: 'Hub',
  endpoint: GRAPHQL_PATH,
  // graphql-transport-ws
  subscriptionsProtocol: 'WS',
  subscriptionsEndpoint: SOCKET_PATH,
  defaultQuery: EXAMPLE,
  // a token is a secret: it ends with the page
  shouldPersistHeaders: false,
} as const;

export class GraphiqlPage {
  #response: Promise<HttpResponse> | undefined;

  /** Made at the first request: the bundle has 9 MB. */
  response(): Promise<HttpResponse> {
    return (this.#response ??= render().catch((error: unknown) => {
      this.#response = undefined;
      throw error;
    }));
  }
}

async function render(): Promise<HttpResponse> {
  const { renderGraphiQL } = await import('@graphql-yoga/render-graphiql');
  const html = renderGraphiQL(OPTIONS);
  const script = html.slice(html.indexOf('<script>') + 8, html.lastIndexOf('</script>'));
  const policy = [
    "default-src 'none'",
    `script-src 'sha256-${createHash('sha256').update(script).digest('base64')}'`,
    // the editor runs its language services in workers, and writes its styles at run time
    'worker-src blob:',
    "style-src 'unsafe-inline'",
    'font-src data:',
    'img-src data:',
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ];
  return {
    status: 200,
    content_type: 'text/html; charset=utf-8',
    headers: { 'content-security-policy': policy.join('; ') },
    body: Buffer.from(html),
  };
}
