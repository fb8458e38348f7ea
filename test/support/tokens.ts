/**
 * Tokens that the services never sign, to test that they are refused. Each has a valid signature as
 * far as possible.
 */
import { createHmac } from 'node:crypto';

export const SECRET = 'a secret of the tests, 32 characters and more';
const PK = '0x7e5f4552091a69125d5dfcb7b8c2659029395bdf';
const HS256 = { alg: 'HS256', typ: 'JWT' };

/** The text as a part of a token. */
function part(text: string | Buffer): string {
  return Buffer.from(text).toString('base64url');
}

/** Header and payload as these texts, signed with HMAC. */
export function rawToken(
  header: string | Buffer,
  payload: string | Buffer,
  secret = SECRET,
  digest = 'sha256',
): string {
  const signed = `${part(header)}.${part(payload)}`;
  return `${signed}.${createHmac(digest, secret).update(signed).digest('base64url')}`;
}

/** A good token, made without the code under test. */
export function goodToken(
  claims: { readonly pk: string; readonly exp: number },
  secret = SECRET,
): string {
  return rawToken(JSON.stringify(HS256), JSON.stringify(claims), secret);
}

function token(header: object, payload: object): string {
  return rawToken(JSON.stringify(header), JSON.stringify(payload));
}

/** The same signature in other characters: base64url leaves bits over at its end. */
function inOtherBits(good: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  return good.slice(0, -1) + (alphabet[alphabet.indexOf(good.at(-1) ?? '') ^ 1] ?? '');
}

/** Bad tokens of every kind, at this time (Unix seconds). */
export function badTokens(now: number): Readonly<Record<string, string>> {
  const exp = now + 3_600;
  const claims = { pk: PK, exp };
  const good = token(HS256, claims);
  const [header = '', payload = '', signature = ''] = good.split('.');
  return {
    'no text': '',
    'not a token': 'hello',
    'two parts': `${header}.${payload}`,
    'an empty signature': `${header}.${payload}.`,
    'four parts': `${good}.${signature}`,
    'a signature cut short': good.slice(0, -1),
    'a signature in other bits': inOtherBits(good),
    'a signature with padding': `${good}=`,
    'a signature in hex': `${header}.${payload}.${Buffer.from(signature, 'base64url').toString('hex')}`,
    'another payload under the signature': `${header}.${part(JSON.stringify({ pk: `0x${'1'.repeat(40)}`, exp }))}.${signature}`,
    'algorithm none without signature': `${part('{"alg":"none","typ":"JWT"}')}.${payload}.`,
    'algorithm none, signed': token({ alg: 'none' }, claims),
    'algorithm None': token({ alg: 'None', typ: 'JWT' }, claims),
    'algorithm hs256': token({ alg: 'hs256', typ: 'JWT' }, claims),
    'algorithm HS384': rawToken(
      '{"alg":"HS384","typ":"JWT"}',
      JSON.stringify(claims),
      SECRET,
      'sha384',
    ),
    'algorithm HS384 under HS256': token({ alg: 'HS384', typ: 'JWT' }, claims),
    'algorithm RS256': token({ alg: 'RS256', typ: 'JWT' }, claims),
    'no algorithm': token({ typ: 'JWT' }, claims),
    'two algorithms': token({ alg: ['HS256'], typ: 'JWT' }, claims),
    'another type': token({ alg: 'HS256', typ: 'JWE' }, claims),
    'a critical extension': token({ ...HS256, crit: ['exp'] }, claims),
    'a key by a path': token({ ...HS256, kid: '../../' }, claims),
    'a key of its own': token({ ...HS256, jwk: { kty: 'oct', k: part(SECRET) } }, claims),
    'a header that is a list': rawToken('["HS256"]', JSON.stringify(claims)),
    'a header that is null': rawToken('null', JSON.stringify(claims)),
    'a header that is no JSON': rawToken('{', JSON.stringify(claims)),
    'a header by way of __proto__': rawToken(
      '{"__proto__":{"alg":"HS256"}}',
      JSON.stringify(claims),
    ),
    'no expiry': token(HS256, { pk: PK }),
    'an expiry that is null': token(HS256, { pk: PK, exp: null }),
    'an expiry as text': token(HS256, { pk: PK, exp: String(exp) }),
    'an expiry with a fraction': token(HS256, { pk: PK, exp: exp + 0.5 }),
    'a negative expiry': token(HS256, { pk: PK, exp: -exp }),
    'an expiry of 0': token(HS256, { pk: PK, exp: 0 }),
    'an expiry of 1e308': rawToken(JSON.stringify(HS256), `{"pk":"${PK}","exp":1e308}`),
    'an expiry of 1e400': rawToken(JSON.stringify(HS256), `{"pk":"${PK}","exp":1e400}`),
    'one second past its expiry': token(HS256, { pk: PK, exp: now - 1 }),
    'in the second of its expiry': token(HS256, { pk: PK, exp: now }),
    'no key': token(HS256, { exp }),
    'an empty key': token(HS256, { pk: '', exp }),
    'a key that is a number': token(HS256, { pk: 1, exp }),
    'a key that is a list': token(HS256, { pk: [PK], exp }),
    'a key that is null': token(HS256, { pk: null, exp }),
    'claims by way of __proto__': rawToken(
      JSON.stringify(HS256),
      `{"__proto__":{"pk":"${PK}","exp":${exp}}}`,
    ),
    'claims that are a list': rawToken(JSON.stringify(HS256), `["${PK}",${exp}]`),
    'claims that are text': rawToken(JSON.stringify(HS256), '"pk"'),
    'claims that are no UTF-8': rawToken(
      JSON.stringify(HS256),
      Buffer.from(`{"pk":"\xff","exp":${exp}}`, 'latin1'),
    ),
    'claims after a byte order mark': rawToken(
      JSON.stringify(HS256),
      `\ufeff${JSON.stringify(claims)}`,
    ),
    'another secret': rawToken(JSON.stringify(HS256), JSON.stringify(claims), `${SECRET}.`),
    '100 KiB': token(HS256, { ...claims, more: 'x'.repeat(75 * 1024) }),
    '100 KiB of nothing': 'x'.repeat(100 * 1024),
  };
}
