/**
 * Bearer tokens: JSON Web Tokens signed with HS256, claims `{pk, exp}`. The hub issues them, whoever shares its secret verifies them. One algorithm, one form: what
 * this file would not have signed itself is no token, and nobody is told why.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { DEVELOPMENT_JWT_SECRET } from '../../../schemas/development.ts';

export interface Claims {
  /** whose token it is, as it was given at sign-in: a wallet address, or a public key */
  readonly pk: string;
  /** Unix seconds; from then on it is no token any more */
  readonly exp: number;
}

/** A token is some 200 characters; nothing longer than this is looked at. */
const CHARACTERS_MAX = 4_096;
const BEARER = /^bearer +([^\s]+)$/i;
const TOKEN = /^([\w-]+)\.([\w-]+)\.([\w-]{43})$/;
const HEADER = encoded({ alg: 'HS256', typ: 'JWT' });
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** A token of these claims. `exp` is whole Unix seconds. */
export function signToken({ pk, exp }: Claims, secret: string): string {
  if (pk === '' || !isExpiry(exp))
    throw new RangeError('a token needs a key, and an expiry in whole Unix seconds');
  const signed = `${HEADER}.${encoded({ pk, exp })}`;
  return `${signed}.${signatureOf(signed, secret)}`;
}

/** The claims of a token that was signed with this secret and has not expired at `now_ms` (Unix milliseconds); otherwise undefined. Claims besides `pk` and `exp` are left aside. */
export function verifyToken(token: string, secret: string, now_ms: number): Claims | undefined {
  if (token.length > CHARACTERS_MAX) return undefined;
  const [, header, payload, signature] = TOKEN.exec(token) ?? [];
  if (header === undefined || payload === undefined || signature === undefined) return undefined;
  // as text: a signature has one form only, also in the bits that base64url leaves over
  if (
    !timingSafeEqual(
      Buffer.from(signature),
      Buffer.from(signatureOf(`${header}.${payload}`, secret)),
    )
  )
    return undefined;
  if (!isOurHeader(decoded(header))) return undefined;
  const claims = decoded(payload);
  if (claims === undefined) return undefined;
  const [pk, exp] = [own(claims, 'pk'), own(claims, 'exp')];
  if (typeof pk !== 'string' || pk === '' || !isExpiry(exp)) return undefined;
  return now_ms < exp * 1_000 ? { pk, exp } : undefined;
}

/** The token of an Authorization header, `Bearer <token>` in any case; undefined when it has none. */
export function bearerToken(authorization: string | undefined): string | undefined {
  return authorization === undefined ? undefined : BEARER.exec(authorization)?.[1];
}

function signatureOf(signed: string, secret: string): string {
  return createHmac('sha256', secret).update(signed).digest('base64url');
}

function encoded(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

/** The JSON object that a part says; undefined when it says none. */
function decoded(part: string): object | undefined {
  try {
    const value: unknown = JSON.parse(UTF8.decode(Buffer.from(part, 'base64url')));
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    // neither UTF-8 nor JSON: no token, whatever else is the matter with it
    return undefined;
  }
}

/** A header may name the algorithm and the type. Keys by name, critical extensions and the like are nothing that was ever signed here. */
function isOurHeader(header: object | undefined): boolean {
  if (header === undefined || own(header, 'alg') !== 'HS256') return false;
  const type = own(header, 'typ');
  if (type !== undefined && type !== 'JWT') return false;
  return Object.keys(header).every((name) => name === 'alg' || name === 'typ');
}

function isExpiry(exp: unknown): exp is number {
  return typeof exp === 'number' && Number.isSafeInteger(exp) && exp > 0;
}

function own(value: object, name: string): unknown {
  return Object.hasOwn(value, name) ? Reflect.get(value, name) : undefined;
}

/** Why a service must not take this secret on its network: on the mainnet, that it is the one that everybody can sign with. */
export function secretProblems({
  network,
  jwt_secret: secret,
}: {
  readonly network: string;
  readonly jwt_secret: string;
}): readonly string[] {
  if (network !== 'mainnet' || secret !== DEVELOPMENT_JWT_SECRET) return [];
  return [
    'APP_JWT_SECRET is that of the development stack, with which everybody can sign a token: on the mainnet it has to be set to one of your own',
  ];
}
