/** HTTP for every listener of the devnet: JSON bodies, refusals as {code, message}, draining. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import express, { type ErrorRequestHandler, type Express, type Response } from 'express';
import type { Logger } from 'pino';

const UNREADABLE = 'the request cannot be read: send valid JSON and a valid path';

export type Routes = (app: Express) => void;

/** An Express application with the given routes. Other paths are answered 404. */
export function application(
  log: Logger,
  body_bytes_max: number,
  routes: readonly Routes[],
): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('query parser', 'simple');
  app.use(express.json({ limit: body_bytes_max, strict: true }));
  for (const add of routes) add(app);
  app.use((request, response) =>
    refuse(response, 404, 'not_found', `there is no ${request.method} route at this path`),
  );
  const onError: ErrorRequestHandler = (error: unknown, _request, response, _next) => {
    const status = clientStatus(error);
    if (status === 413) return refuse(response, status, 'too_large', 'the body is too large');
    if (status === 415)
      return refuse(response, status, 'invalid_request', 'the body must be JSON in UTF-8');
    if (status !== undefined) return refuse(response, status, 'invalid_request', UNREADABLE);
    log.error({ event: 'request_failed', err: error });
    if (response.headersSent) response.destroy();
    else refuse(response, 500, 'internal', 'the devnet failed: see its log');
  };
  app.use(onError);
  return app;
}

/** Answers with JSON text. */
export function answerText(response: Response, json: Buffer): void {
  response.setHeader('content-type', 'application/json; charset=utf-8');
  response.setHeader('content-length', json.length);
  response.end(json);
}

export function refuse(response: Response, status: number, code: string, message: string): void {
  response.status(status).json({ code, message });
}

/** Binds a port. Requests are answered once a listener for `request` is added. */
export async function listen(
  host: string,
  port: number,
): Promise<{ readonly server: Server; readonly port: number }> {
  const server = createServer();
  // a large block takes long on a slow line, and a long poll is silent for 30 s
  server.requestTimeout = 60_000;
  server.keepAliveTimeout = 65_000;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once('error', reject);
  server.listen(port, host, resolve);
  await promise;
  server.off('error', reject);
  const address: AddressInfo | string | null = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return { server, port: address.port };
}

/** Stops accepting, waits up to `drain_ms` for requests in flight, then closes all connections. */
export async function drain(server: Server, drain_ms: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  server.close(() => resolve());
  server.prependListener('request', (_request, response) =>
    response.setHeader('connection', 'close'),
  );
  const idle = setInterval(() => server.closeIdleConnections(), 50);
  const late = setTimeout(() => server.closeAllConnections(), drain_ms);
  await promise;
  clearInterval(idle);
  clearTimeout(late);
}

/** The 4xx status that Express or its body parser threw; undefined for other errors. */
function clientStatus(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('status' in error) || typeof error.status !== 'number')
    return undefined;
  return error.status >= 400 && error.status < 500 ? error.status : undefined;
}

/** Refuses a body of the admin port and says what is expected. */
export function refuseBody(response: Response, expected: string): void {
  refuse(response, 400, 'invalid_request', `the body is JSON: ${expected}`);
}

/** The body's own fields; none when it is no JSON object. */
export function bodyFields(body: unknown): Readonly<Record<string, unknown>> {
  return isObject(body) ? { ...body } : {};
}

export function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isInteger(value: unknown, min: number, max: number): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= min && value <= max;
}
