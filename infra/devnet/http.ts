/** HTTP as every listener of the devnet has it: JSON in and out, refusals as {code, message}, no half answers at the end. */
import type { Server } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import type { ErrorRequestHandler, Express, Response } from 'express';
import type { Logger } from 'pino';

/** An Express application without its defaults that surprise. `routes` adds the routes; what is left over is 404. */
export function application(
  log: Logger,
  body_bytes_max: number,
  routes: (app: Express) => void,
): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('query parser', 'simple');
  app.use(express.json({ limit: body_bytes_max, strict: true }));
  routes(app);
  app.use((request, response) =>
    refuse(response, 404, 'not_found', `there is no ${request.method} route at this path`),
  );
  const onError: ErrorRequestHandler = (error: unknown, _request, response, _next) => {
    const status = clientStatus(error);
    if (status !== undefined) {
      refuse(
        response,
        status,
        status === 413 ? 'too_large' : 'invalid_request',
        clientMessage(status),
      );
      return;
    }
    log.error({ event: 'request_failed', err: error });
    if (response.headersSent) response.destroy();
    else refuse(response, 500, 'internal', 'the devnet failed; its log says why');
  };
  app.use(onError);
  return app;
}

export function answer(response: Response, body: unknown): void {
  response.json(body);
}

/** JSON that is text already. */
export function answerText(response: Response, json: Buffer): void {
  response.setHeader('content-type', 'application/json; charset=utf-8');
  response.setHeader('content-length', json.length);
  response.end(json);
}

export function refuse(response: Response, status: number, code: string, message: string): void {
  response.status(status).json({ code, message });
}

/** Listens and resolves with the server and its port; requests wait until somebody handles them. */
export async function listen(
  host: string,
  port: number,
): Promise<{ readonly server: Server; readonly port: number }> {
  const server = createServer();
  // a block of 20,000 transactions is tens of megabytes on a slow line, and a long poll is silent for half a minute
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

/** Takes no more connections, lets requests in flight end for `drain_ms`, then cuts what is left. */
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

/** 4xx of what Express and its body parser throw; undefined for everything else. */
function clientStatus(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('status' in error) || typeof error.status !== 'number')
    return undefined;
  return error.status >= 400 && error.status < 500 ? error.status : undefined;
}

function clientMessage(status: number): string {
  if (status === 413) return 'the body is too large';
  if (status === 415) return 'the body must be JSON in UTF-8';
  return 'the request cannot be read: send valid JSON and a valid path';
}
