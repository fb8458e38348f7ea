/**
 * A door with passwords before the schema registry, whose own are for single sign-on alone. The
 * account of the readers may only GET. The registry itself listens where only this process reaches.
 */
import { timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { request, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { pathToFileURL } from 'node:url';

const READING = new Set(['GET', 'HEAD']);

export interface Account {
  readonly name: string;
  readonly password: string;
  /** the password before, which is still taken; undefined: none */
  readonly before?: string | undefined;
}

export interface ProxySettings {
  /** The registry, without a path. */
  readonly target: string;
  readonly reader: Account;
  readonly writer: Account;
}

/** Why a request is refused, as Confluent's registry says it; undefined: it passes. */
export function refusal(
  { method = '', authorization = '' }: { method?: string; authorization?: string },
  { reader, writer }: Pick<ProxySettings, 'reader' | 'writer'>,
): { readonly status: 401 | 403; readonly message: string } | undefined {
  if (isOf(authorization, writer)) return undefined;
  if (!isOf(authorization, reader))
    return { status: 401, message: 'no such user and password of the schema registry' };
  if (READING.has(method)) return undefined;
  return {
    status: 403,
    message: `the account ${reader.name} of the schema registry may only read, not ${method}`,
  };
}

function isOf(authorization: string, { name, password, before = password }: Account): boolean {
  return [password, before].some((each) => {
    const expected = `Basic ${Buffer.from(`${name}:${each}`).toString('base64')}`;
    const [given, wanted] = [Buffer.from(authorization), Buffer.from(expected)];
    return given.length === wanted.length && timingSafeEqual(given, wanted);
  });
}

function proxy(settings: ProxySettings) {
  return (asked: IncomingMessage, answer: ServerResponse): void => {
    const fail = (status: number, message: string): void => {
      if (answer.headersSent) return void answer.destroy();
      const headers = {
        'content-type': 'application/json',
        ...(status === 401 ? { 'www-authenticate': 'Basic realm="schema registry"' } : {}),
      };
      // the body of an unread request would be taken for the next request
      answer.writeHead(status, { ...headers, connection: 'close' });
      answer.end(JSON.stringify({ error_code: status, message }));
    };
    const { method = 'GET', url = '/', headers } = asked;
    const { authorization, ...passed } = headers;
    const refused = refusal({ method, authorization: authorization ?? '' }, settings);
    if (refused !== undefined) return fail(refused.status, refused.message);
    const away = (error: Error): void => fail(503, `the schema registry is away: ${error.message}`);
    const forwarded = request(`${settings.target}${url}`, { method, headers: passed }, (from) => {
      answer.writeHead(from.statusCode ?? 502, from.headers);
      from.on('error', away).pipe(answer);
    });
    asked.on('error', away).pipe(forwarded.on('error', away));
  };
}

/** Variables of the process; it has no defaults, since each is a secret or a place. */
function needed(name: string): string {
  const value = process.env[name];
  if (value === undefined || value === '') throw new Error(`${name} is not set`);
  return value;
}

function main(): void {
  const account = (prefix: string): Account => ({
    name: needed(`${prefix}_USERNAME`),
    password: needed(`${prefix}_PASSWORD`),
    before: process.env[`${prefix}_PASSWORD_BEFORE`],
  });
  const settings = {
    target: needed('APP_PROXY_TARGET'),
    reader: account('APP_PROXY_READER'),
    writer: account('APP_PROXY_WRITER'),
  };
  const tls = {
    cert: readFileSync(needed('APP_PROXY_TLS_CERT')),
    key: readFileSync(needed('APP_PROXY_TLS_KEY')),
  };
  const server = createServer(tls, proxy(settings));
  server.listen(Number(needed('APP_PROXY_PORT')), needed('APP_PROXY_HOST'));
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => {
      server.close();
      server.closeAllConnections();
    });
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) main();
