/**
 * The short way to a route: a GET of the plainest kind is served without Express, whose walk through its chain and change of the request's prototype cost more than most answers. All
 * other requests, malformed ones and those for paths that are not there among them, go the long way.
 */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { parse, type ParsedUrlQuery } from 'node:querystring';
import { forwardedFor } from './client-address.ts';
import type { HttpRequest, GetRoute, Route } from './handler.ts';

export interface Found {
  readonly route: GetRoute;
  readonly asked: HttpRequest;
}

/** What is looked at of a request. */
type Head = Pick<IncomingMessage, 'method' | 'url' | 'headers'> & Pick<HttpRequest, 'socket'>;

/** Addresses that mean what they look like: nothing encoded, no fragment, no spaces. */
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

  /** The route of a request that can go the short way. */
  find(request: Head): Found | undefined {
    const { method, url = '', headers } = request;
    if (
      method !== 'GET' ||
      headers['transfer-encoding'] !== undefined ||
      headers['content-length'] !== undefined
    )
      return undefined;
    if (!PLAIN_URL.test(url)) return undefined;
    const mark = url.indexOf('?');
    const path = mark === -1 ? url : url.slice(0, mark);
    const literal = this.#literal.get(path);
    if (literal !== undefined)
      return { route: literal, asked: new Direct(request, path, {}, this.#trustProxyHops) };
    for (const { route, pattern } of this.#patterns) {
      const match = pattern.exec(path);
      if (match !== null)
        return {
          route,
          asked: new Direct(request, path, match.groups ?? {}, this.#trustProxyHops),
        };
    }
    return undefined;
  }
}

/** All of its parameters: one that is not looked at could not be refused. */
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
    return queryOf(this.originalUrl.slice(this.path.length + 1));
  }

  get ip(): string | undefined {
    return forwardedFor(this, this.#trustProxyHops);
  }
}
