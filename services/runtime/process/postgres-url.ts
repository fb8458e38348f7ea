/**
 * Connection strings of Postgres as libpq reads them: several hosts, TLS by certificates in files.
 * Source: https://www.postgresql.org/docs/current/libpq-connect.html
 */
import { readFileSync } from 'node:fs';
import type { ConnectionOptions } from 'node:tls';

export interface PostgresAddress {
  readonly user: string;
  readonly password: string;
  readonly database: string;
  /** in the order of preference */
  readonly hosts: readonly [PostgresHost, ...PostgresHost[]];
  readonly ssl: ConnectionOptions | false;
  readonly target_session_attrs: 'read-write' | 'any' | undefined;
}

export interface PostgresHost {
  readonly host: string;
  readonly port: number;
}

const FORM =
  /^postgres(?:ql)?:\/\/(?:(?<user>[^:@/?]*)(?::(?<password>[^/?]*))?@)?(?<hosts>[^@/?]+)(?:\/(?<database>[^?]*))?(?:\?(?<query>.*))?$/d;
const PARAMETERS = new Set(['sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'target_session_attrs']);
const SSL_MODES = ['disable', 'require', 'verify-ca', 'verify-full'];

/** Undefined for what is no such string; throws what is wrong in one, without its secrets. */
export function parsePostgresUrl(url: string): PostgresAddress | undefined {
  const parts = FORM.exec(url)?.groups;
  const [first, ...others] = (parts?.['hosts'] ?? '').split(',').map(hostOf);
  const rest = others.filter((host) => host !== undefined);
  if (parts === undefined || first === undefined || rest.length < others.length) return undefined;
  const parameters = new URLSearchParams(parts['query'] ?? '');
  const unknown = [...parameters.keys()].filter((name) => !PARAMETERS.has(name));
  if (unknown.length > 0)
    throw new Error(`its parameter ${unknown.join(', ')} has no effect: remove it`);
  const attributes = parameters.get('target_session_attrs') ?? undefined;
  if (attributes !== undefined && attributes !== 'read-write' && attributes !== 'any')
    throw new Error('its target_session_attrs is neither read-write nor any');
  const user = decodeURIComponent(parts['user'] ?? '');
  return {
    user,
    password: decodeURIComponent(parts['password'] ?? ''),
    database: decodeURIComponent(parts['database'] ?? '') || user,
    hosts: [first, ...rest],
    ssl: sslOf(parameters),
    target_session_attrs: attributes,
  };
}

/** The string with each of its hosts alone. */
export function urlsOfHosts(url: string): readonly string[] {
  const [from, to] = FORM.exec(url)?.indices?.groups?.['hosts'] ?? [0, 0];
  const hosts = url.slice(from, to).split(',');
  return hosts.map((host) => url.slice(0, from) + host + url.slice(to));
}

function hostOf(text: string): PostgresHost | undefined {
  const [, bracketed, plain, port = '5432'] =
    /^(?:\[([0-9a-f:.]+)\]|([^\s:[\]]+))(?::([0-9]{1,5}))?$/i.exec(text) ?? [];
  const host = bracketed ?? plain;
  return host === undefined ? undefined : { host: decodeURIComponent(host), port: Number(port) };
}

function sslOf(parameters: URLSearchParams): ConnectionOptions | false {
  const mode = parameters.get('sslmode') ?? undefined;
  const pem = (name: string): string | undefined => {
    const file = parameters.get(name);
    return file === null ? undefined : readFileSync(file, 'utf8');
  };
  const [ca, cert, key] = [pem('sslrootcert'), pem('sslcert'), pem('sslkey')];
  const files = Object.entries({ ca, cert, key }).filter(([, text]) => text !== undefined);
  if (mode !== undefined && !SSL_MODES.includes(mode))
    throw new Error(`its sslmode is none of ${SSL_MODES.join(', ')}`);
  if ((cert === undefined) !== (key === undefined))
    throw new Error('it has only one of sslcert and sslkey: add the other one');
  if (mode === undefined || mode === 'disable') {
    if (files.length > 0) throw new Error('it has files for TLS: add sslmode=verify-full');
    return false;
  }
  return {
    ...Object.fromEntries(files),
    // a server is believed by its certificate alone where there is one to compare it with
    ...(mode === 'require' && ca === undefined ? { rejectUnauthorized: false } : {}),
    ...(mode === 'verify-full' ? {} : { checkServerIdentity: () => undefined }),
  };
}
