/**
 * The fast path to a route: a plain GET is served without Express, whose middleware chain and
 * change of the request's prototype cost more than most responses. All other requests, also
 * malformed ones and those for unknown paths, go through Express.
 */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { parse, type ParsedUrlQuery } from 'node:querystring';
import { forwardedFor } from './client-address.ts';
import type { HttpRequest, GetRoute, Route } from './handler.ts';

export interface Found {
  readonly route: GetRoute;
  readonly request: HttpRequest;
}

type Head = Pick<IncomingMessage, 'method' | 'url' | 'headers'> & Pick<HttpRequest, 'socket'>;

/** No encoding, no fragment, no spaces. */
const PLAIN_URL = /^\/[!"$&-~]*$/;
const LITERAL = /^[/\w.-]+$/;

export class DirectRoutes {
  readonly #literal = new Map<string, GetRoute>();
  readonly #patterns: { readonly route: GetRoute; readonly pattern: RegExp }[] = [];
  readonly #trustProxyHops: number;

  constructor(routes: readonly Route[], trustProxyHops: number) {
    this.#trustProxyHops = trustProxyHops;
    for (const route of routes) {
      if (route.method !== 'get') continue;
      if (LITERAL.test(route.path)) this.#literal.set(route.path, route);
      else if (LITERAL.test(route.path.replaceAll(':', '')))
        this.#patterns.push({ route, pattern: patternOf(route.path) });
    }
  }

  /** The route of a request that can take the fast path. */
  find(message: Head): Found | undefined {
    const { method, url = '', headers } = message;
    if (
      method !== 'GET' ||
      headers['transfer-encoding'] !== undefined ||
      headers['content-length'] !== undefined
    )
      return undefined;
    if (!PLAIN_URL.test(url)) return undefined;
    const mark = url.indexOf('?');
    const path = mark === -1 ? url : url.slice(0, mark);
    const hops = this.#trustProxyHops;
    const literal = this.#literal.get(path);
    if (literal !== undefined)
      return { route: literal, request: new Direct(message, path, {}, hops) };
    for (const { route, pattern } of this.#patterns) {
      const match = pattern.exec(path);
      if (match !== null)
        return { route, request: new Direct(message, path, match.groups ?? {}, hops) };
    }
    return undefined;
  }
}

/** Without a limit on their number: an ignored parameter could not be refused. */
export function queryOf(text: string): ParsedUrlQuery {
  return parse(text, '&', '=', { maxKeys: 0 });
}

function patternOf(path: string): RegExp {
  return new RegExp(
    `^${path.replaceAll('.', String.raw`\.`).replaceAll(/:(\w+)/g, String.raw`(?<$1>[\w.-]+)`)}$`,
  );
}

class Direct implements HttpRequest {
  readonly method = 'GET';
  readonly path: string;
  readonly originalUrl: string;
  readonly params: HttpRequest['params'];
  readonly headers: IncomingHttpHeaders;
  readonly socket: HttpRequest['socket'];
  readonly #trustProxyHops: number;
  #query: ParsedUrlQuery | undefined;

  constructor(
    { url = '', headers, socket }: Head,
    path: string,
    params: HttpRequest['params'],
    trustProxyHops: number,
  ) {
    this.path = path;
    this.originalUrl = url;
    this.params = params;
    this.headers = headers;
    this.socket = socket;
    this.#trustProxyHops = trustProxyHops;
  }

  get query(): ParsedUrlQuery {
    return (this.#query ??= queryOf(this.originalUrl.slice(this.path.length + 1)));
  }

  get ip(): string | undefined {
    return forwardedFor(this, this.#trustProxyHops);
  }
}
