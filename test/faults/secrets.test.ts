import { expect, test } from 'vitest';
import { XPUB } from '../support/deposit-log.ts';
import { leakIn } from './secrets.ts';
import { goodToken } from '../support/tokens.ts';

const SECRET = 'a secret of this test, as good as any';
const secrets = new Map([[SECRET, 'APP_JWT_SECRET']]);

test('a secret, a token, a password in a URL and a private key are found anywhere in a line', () => {
  expect(leakIn(`{"msg":"with ${SECRET}"}`, secrets)).toBe('APP_JWT_SECRET');
  expect(
    leakIn(`{"msg":"who sent ${goodToken({ pk: '0x00', exp: 2 ** 40 }, SECRET)}?"}`, secrets),
  ).toBe('a token');
  expect(leakIn('{"authorization":"Bearer abcdefghijklmnop"}', secrets)).toBe('an authorization');
  expect(
    leakIn('cannot reach postgresql://clt_writer:clt_writer@127.0.0.1:5432/clt', secrets),
  ).toBe('a URL with a password');
  expect(
    leakIn(
      'xprvA2JDeKCSNNZky6uBCviVfJSKyQ1mDYahRjijr5idH2WwLsEd4Hsb2Tyh8RfQMuPh7f7RtyzTtdrbdqqsunu5Mm3wDvUAKRHSC34sJ7in334',
      secrets,
    ),
  ).toBe('an extended private key');
});

test('public values are no secrets', () => {
  expect(
    leakIn(
      `{"key":"${XPUB}","url":"http://127.0.0.1:17090/v1/accounts","redis":"redis://127.0.0.1:6379","at":"12:00:01 a@b"}`,
      secrets,
    ),
  ).toBe(undefined);
});
