import assert from 'node:assert/strict';
import {
  bearerToken,
  hasExpired,
  signToken,
  verifyToken,
} from '../../../services/runtime/http/token.ts';
import { badTokens, goodToken, rawToken, SECRET } from '../../support/tokens.ts';

export const about = 'JWT: no input throws, and an accepted token is one that is signed here';

const NOW = 1_800_000_000;
const DATE_MS_MAX = 8.64e15;
const HEADER = '{"alg":"HS256","typ":"JWT"}';

/** A zero byte, then header and claims with a line end between them, which are then signed. */
const SIGN = '\0';

export const seeds = [
  goodToken({ pk: `0x${'ab'.repeat(20)}`, exp: NOW + 60 }),
  `Bearer ${goodToken({ pk: 'a', exp: NOW + 1 })}`,
  ...Object.values(badTokens(NOW)).filter((each) => each.length < 500),
  `${SIGN}${HEADER}\n{"pk":"a","exp":${NOW + 1}}`,
  `${SIGN}${HEADER}\n{"pk":"a","exp":${NOW + 60},"nbf":${NOW - 1},"iat":1,"aud":"b"}`,
];
export const words = [
  '"nbf":',
  '"exp":',
  '"crit":["b64"],"b64":false',
  '"kid":""',
  '"zip":"DEF"',
  String(NOW),
  '\\ud800',
];

export async function fuzz(bytes: Buffer): Promise<void> {
  const text = bytes.toString();
  const end = bytes.indexOf('\n');
  const isSigned = text.startsWith(SIGN) && end > 0;
  const token = isSigned
    ? rawToken(bytes.subarray(1, end), bytes.subarray(end + 1))
    : (bearerToken(text) ?? text);
  const claims = await verifyToken(token, { jwt_secret: SECRET }, NOW * 1_000);
  const isExpired = await hasExpired(token, { jwt_secret: SECRET }, NOW * 1_000);
  assert.ok(!isExpired || claims === undefined);
  if (claims === undefined) return;
  const { pk, exp } = claims;
  assert.ok(typeof pk === 'string' && pk !== '' && Number.isSafeInteger(exp) && exp > NOW);
  assert.deepEqual(Object.keys(claims).toSorted(), ['exp', 'pk']);
  assert.equal(await verifyToken(token, { jwt_secret: `${SECRET}.` }, NOW * 1_000), undefined);
  // no clock is beyond
  if (exp * 1_000 <= DATE_MS_MAX)
    assert.deepEqual(
      [
        await verifyToken(token, { jwt_secret: SECRET }, exp * 1_000),
        await hasExpired(token, { jwt_secret: SECRET }, exp * 1_000),
        await hasExpired(token, { jwt_secret: `${SECRET}.` }, exp * 1_000),
      ],
      [undefined, true, false],
    );
  assert.deepEqual(
    await verifyToken(await signToken(claims, SECRET), { jwt_secret: SECRET }, NOW * 1_000),
    claims,
  );
}
