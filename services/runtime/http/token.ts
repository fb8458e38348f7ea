/**
 * Bearer tokens: JSON Web Tokens (RFC 7519) signed with HS256, claims `{pk, exp}`. The hub issues
 * them; every service that shares its secret verifies them. There is one form and one refusal: a
 * token that this file would not have signed is refused.
 */
import { decodeJwt, errors, jwtVerify, SignJWT } from 'jose';
import { DEVELOPMENT_JWT_SECRET } from '../../../schemas/development.ts';
import { optional, secret } from '../process/config.ts';

const CHARACTERS_MIN = 32;

/** The settings of every service that verifies tokens. */
export const TOKEN_SETTINGS = {
  jwt_secret: secret('APP_JWT_SECRET', { characters_min: CHARACTERS_MIN }),
  /** verifies too and never signs: while a secret is replaced both are valid */
  jwt_secret_also: optional(secret('APP_JWT_SECRET_ALSO', { characters_min: CHARACTERS_MIN })),
} as const;

export interface TokenSecrets {
  readonly jwt_secret: string;
  readonly jwt_secret_also?: string | undefined;
}

export interface Claims {
  /** the owner as given at sign-in: a wallet address or a public key */
  readonly pk: string;
  /** Unix seconds; the token is valid before this second */
  readonly exp: number;
}

/** A token has some 200 characters. */
const CHARACTERS_MAX = 4_096;
const BEARER = /^bearer +([^\s]+)$/i;
/**
 * jose is more lenient: it accepts padding, a signature with other bits in its last character, and
 * a header or claims after a byte order mark (`77u_`).
 */
const TOKEN = /^(?!77u_)[\w-]+\.(?!77u_)[\w-]+\.[\w-]{42}[AEIMQUYcgkosw048]$/;

/** `exp` in whole Unix seconds; throws a `RangeError` for claims that `verifyToken` refuses. */
export async function signToken({ pk, exp }: Claims, secretText: string): Promise<string> {
  if (pk === '' || !isExpiry(exp))
    throw new RangeError('a token needs a key, and an expiry in whole Unix seconds');
  const token = new SignJWT({ pk, exp }).setProtectedHeader({ alg: 'HS256', typ: 'JWT' });
  return token.sign(keyOf(secretText));
}

/**
 * The claims of a token that one of these secrets signed and that has not expired at `now_ms` (Unix
 * milliseconds); otherwise undefined. Other claims are ignored, but a future `nbf` is refused.
 */
export async function verifyToken(
  token: string,
  { jwt_secret: jwtSecret, jwt_secret_also: jwtSecretAlso }: TokenSecrets,
  now_ms: number,
): Promise<Claims | undefined> {
  if (token.length > CHARACTERS_MAX || !TOKEN.test(token)) return undefined;
  const claims = await verifyBy(token, jwtSecret, now_ms);
  if (claims !== undefined || jwtSecretAlso === undefined) return claims;
  return verifyBy(token, jwtSecretAlso, now_ms);
}

/** Whether `verifyToken` refuses a token for its expiry alone. */
export async function hasExpired(
  token: string,
  secrets: TokenSecrets,
  now_ms: number,
): Promise<boolean> {
  if (token.length > CHARACTERS_MAX || !TOKEN.test(token)) return false;
  const exp = expiryOf(token);
  if (!isExpiry(exp) || exp * 1_000 > now_ms) return false;
  return (await verifyToken(token, secrets, exp * 1_000 - 1)) !== undefined;
}

/** The claim `exp` of a token that nobody has verified. */
function expiryOf(token: string): unknown {
  try {
    return decodeJwt(token).exp;
  } catch (error) {
    if (error instanceof errors.JOSEError) return undefined;
    throw error;
  }
}

async function verifyBy(
  token: string,
  secretText: string,
  now_ms: number,
): Promise<Claims | undefined> {
  try {
    const { payload, protectedHeader } = await jwtVerify(token, keyOf(secretText), {
      algorithms: ['HS256'],
      currentDate: new Date(now_ms),
    });
    // jose leaves these to its caller
    const { pk, exp } = payload;
    if (!isOurHeader(protectedHeader)) return undefined;
    return typeof pk === 'string' && pk !== '' && isExpiry(exp) ? { pk, exp } : undefined;
  } catch (error) {
    if (error instanceof errors.JOSEError) return undefined;
    throw error;
  }
}

/** The token of an Authorization header, `Bearer <token>` in any case; undefined without one. */
export function bearerToken(authorization: string | undefined): string | undefined {
  return authorization === undefined ? undefined : BEARER.exec(authorization)?.[1];
}

function keyOf(secretText: string): Uint8Array {
  return new TextEncoder().encode(secretText);
}

/** A header names the algorithm and perhaps the type: no key id, no key, no critical extension. */
function isOurHeader(header: Readonly<Record<string, unknown>>): boolean {
  return Object.entries(header).every(
    ([name, value]) => name === 'alg' || (name === 'typ' && value === 'JWT'),
  );
}

function isExpiry(exp: unknown): exp is number {
  return typeof exp === 'number' && Number.isSafeInteger(exp) && exp > 0;
}

/** Why a service must not use these secrets on its network. */
export function secretProblems(
  config: TokenSecrets & { readonly network: string },
): readonly string[] {
  if (config.network !== 'mainnet') return [];
  return Object.entries(TOKEN_SETTINGS)
    .filter(([key]) => Reflect.get(config, key) === DEVELOPMENT_JWT_SECRET)
    .map(
      ([, { name }]) =>
        `${name} is the public secret of the development stack, so anybody can sign a token: set a secret of your own on the mainnet`,
    );
}
