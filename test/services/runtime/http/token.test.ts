import { createHmac } from 'node:crypto';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  bearerToken,
  hasExpired,
  signToken,
  verifyToken,
} from '../../../../services/runtime/http/token.ts';
import { badTokens, rawToken, SECRET } from '../../../support/tokens.ts';
import { anyCharacter } from '../../../support/any-character.ts';

const NOW = 1_790_000_000;
const PK = '0x7e5f4552091a69125d5dfcb7b8c2659029395bdf';

function verified(token: string, now_ms = NOW * 1_000): Promise<unknown> {
  return verifyToken(token, { jwt_secret: SECRET }, now_ms);
}

test('a token gives its claims until it expires, to the millisecond', async () => {
  const token = await signToken({ pk: PK, exp: NOW + 60 }, SECRET);
  expect(await verified(token)).toEqual({ pk: PK, exp: NOW + 60 });
  expect(await verified(token, (NOW + 60) * 1_000 - 1)).toEqual({ pk: PK, exp: NOW + 60 });
  expect(await verified(token, (NOW + 60) * 1_000)).toBeUndefined();
});

test('a token has expired when nothing else is wrong with it', async () => {
  const secrets = { jwt_secret: `${SECRET}.`, jwt_secret_also: SECRET };
  const found = [];
  for (const [what, token] of Object.entries(badTokens(NOW)))
    if (await hasExpired(token, { jwt_secret: SECRET }, NOW * 1_000)) found.push(what);
  expect(found).toEqual(['one second past its expiry', 'in the second of its expiry']);
  const token = await signToken({ pk: PK, exp: NOW }, SECRET);
  expect(await hasExpired(token, secrets, NOW * 1_000)).toBe(true);
  expect(await hasExpired(token, secrets, NOW * 1_000 - 1)).toBe(false);
  expect(await hasExpired(token, { jwt_secret: `${SECRET}.` }, NOW * 1_000)).toBe(false);
});

test('while a secret is replaced a token of either verifies, and any other is refused', async () => {
  const [before, after] = ['the secret of before, 32 characters', SECRET];
  const claims = { pk: PK, exp: NOW + 60 };
  const [old, fresh] = [await signToken(claims, before), await signToken(claims, after)];
  const verifies = async (token: string, jwt_secret: string, jwt_secret_also?: string) =>
    (await verifyToken(token, { jwt_secret, jwt_secret_also }, NOW * 1_000)) !== undefined;
  // first also the new one, then signed with the new one, then without the old one
  expect([await verifies(old, before, after), await verifies(fresh, before, after)]).toEqual([
    true,
    true,
  ]);
  expect([await verifies(old, after, before), await verifies(fresh, after, before)]).toEqual([
    true,
    true,
  ]);
  expect([await verifies(old, after), await verifies(fresh, after)]).toEqual([false, true]);
  const another = { jwt_secret: 'another secret', jwt_secret_also: 'and another one' };
  for (const token of [old, fresh, ...Object.values(badTokens(NOW))])
    expect(await verifyToken(token, another, NOW * 1_000)).toBeUndefined();
});

test('a token is a standard JSON Web Token: HS256 over the claims pk and exp', async () => {
  const token = await signToken({ pk: PK, exp: NOW }, SECRET);
  const [header = '', payload = '', signature] = token.split('.');
  expect(JSON.parse(Buffer.from(header, 'base64url').toString())).toEqual({
    alg: 'HS256',
    typ: 'JWT',
  });
  expect(JSON.parse(Buffer.from(payload, 'base64url').toString())).toEqual({ pk: PK, exp: NOW });
  expect(signature).toBe(
    createHmac('sha256', SECRET).update(`${header}.${payload}`).digest('base64url'),
  );
});

test('the example of RFC 7515, appendix A.1, is refused for its claims alone', async () => {
  const key = Buffer.from(
    'AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow',
    'base64url',
  );
  const example =
    'eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ';
  expect(createHmac('sha256', key).update(example).digest('base64url')).toBe(
    'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk',
  );
  expect(
    await verified(`${example}.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk`, 0),
  ).toBeUndefined();
});

test.each([
  [
    'header and claims in another order',
    '{"typ":"JWT","alg":"HS256"}',
    `{"exp":${NOW + 1},"pk":"${PK}"}`,
  ],
  ['no type', '{"alg":"HS256"}', `{"exp":${NOW + 1},"pk":"${PK}"}`],
  [
    'claims besides',
    '{"alg":"HS256","typ":"JWT"}',
    `{"exp":${NOW + 1},"pk":"${PK}","iat":1,"jti":"a"}`,
  ],
  ['white space', ' {"alg" : "HS256"}\n', ` {"exp": ${NOW + 1}, "pk": "${PK}"} `],
])('a token with %s is accepted', async (_what, header, payload) =>
  expect(await verified(rawToken(header, payload))).toEqual({ pk: PK, exp: NOW + 1 }),
);

test.each(Object.entries(badTokens(NOW)))('refused: %s', async (_what, token) =>
  expect(await verified(token)).toBeUndefined(),
);

test('random text is refused, and so is a good token with a character changed', async () => {
  const text = fc.string({ unit: anyCharacter });
  await fc.assert(fc.asyncProperty(text, async (each) => (await verified(each)) === undefined));
  const good = await signToken({ pk: PK, exp: NOW + 60 }, SECRET);
  expect(await verified(good)).toBeDefined();
  const accepted: string[] = [];
  for (let at = 0; at < good.length; at++) {
    const other = good[at] === 'A' ? 'B' : 'A';
    const changed = good.slice(0, at) + other + good.slice(at + 1);
    if ((await verified(changed)) !== undefined) accepted.push(changed);
  }
  expect(accepted).toEqual([]);
});

test('any signed key comes back as it is, and another secret refuses it', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.string({ unit: 'grapheme', minLength: 1, maxLength: 300 }),
      fc.integer({ min: NOW + 1, max: 2 ** 40 }),
      async (pk, exp) => {
        const token = await signToken({ pk, exp }, SECRET);
        expect(await verified(token)).toEqual({ pk: pk.toWellFormed(), exp });
        expect(await verifyToken(token, { jwt_secret: `${SECRET}.` }, NOW * 1_000)).toBeUndefined();
      },
    ),
  );
});

test.each([-1, 0, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53])(
  'a token that expires at %s cannot be signed',
  (exp) => expect(signToken({ pk: PK, exp }, SECRET)).rejects.toThrow(RangeError),
);

test('the token follows the word Bearer of the Authorization header, in any case', () => {
  for (const word of ['Bearer', 'bearer', 'BEARER', 'Bearer  '])
    expect(bearerToken(`${word} a.b.c`)).toBe('a.b.c');
  for (const header of [
    undefined,
    '',
    'Bearer',
    'Bearer ',
    'a.b.c',
    'Basic a.b.c',
    'Bearer a b',
    'Bearera.b.c',
    'Token Bearer a.b.c',
  ])
    expect([header, bearerToken(header)]).toEqual([header, undefined]);
});
