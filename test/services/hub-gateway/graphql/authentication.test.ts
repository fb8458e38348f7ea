import { expect, test } from 'vitest';
import { challengeOf } from '../../../../schemas/sign-in.ts';
import {
  SignIns,
  socketCallerOf,
} from '../../../../services/hub-gateway/graphql/authentication.ts';
import { goodToken, SECRET } from '../../../support/tokens.ts';
import { walletOf } from '../../../support/wallets.ts';

const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
const settings = {
  jwt_secret: 'a secret of thirty-two characters',
  chain_id: 7777,
  jwt_expiration_hours: 6,
  auth_single_use: true,
};

test('a challenge whose signature has both values of s signs in once', async () => {
  const at = 1_700_000_000;
  const wallet = walletOf('browser', 'both');
  const { publicKey } = wallet;
  const { r, s, v } = await wallet.sign(challengeOf(7777, publicKey, at));
  const other = (ORDER - BigInt(`0x${s.replace('0x', '')}`)).toString(16).padStart(64, '0');
  const low = { publicKey, timestamp: at, signature: { r, s, v } };
  const high = { publicKey, timestamp: at, signature: { r, s: other, v: 55 - v } };
  for (const [first, second] of [
    [low, high],
    [high, low],
  ] as const) {
    const signIns = new SignIns(settings, () => at * 1_000);
    expect(await signIns.signIn(first)).toHaveProperty('token');
    expect(await signIns.signIn(second)).toMatchObject({ refused: 'used_before' });
  }
});

test('the end of a token that is no Int of GraphQL is shown as the largest Int', async () => {
  const at = 2 ** 31 - 60;
  const wallet = walletOf('raw', 'late');
  const { publicKey } = wallet;
  const signature = await wallet.sign(challengeOf(7777, publicKey, at));
  const signIns = new SignIns(settings, () => at * 1_000);
  expect(await signIns.signIn({ publicKey, timestamp: at, signature })).toMatchObject({
    expiresAt: 2 ** 31 - 1,
  });
});

const TOKEN = goodToken({ pk: `0x${'ab'.repeat(20)}`, exp: 2_000_000_000 }, SECRET);

test.each([
  ['the query', {}, [{}, `/graphql/ws?token=${TOKEN}`], 'TOKEN_MISPLACED'],
  ['a cookie', {}, [{ cookie: `theme=dark; jwt=${TOKEN}` }, '/graphql/ws'], 'TOKEN_MISPLACED'],
  ['the header of HTTP', {}, [{ authorization: `Bearer ${TOKEN}` }], 'TOKEN_MISPLACED'],
  ['a header of its own', {}, [{ 'x-auth-token': TOKEN }], 'TOKEN_MISPLACED'],
  ['the subprotocol', {}, [{ 'sec-websocket-protocol': `a, ${TOKEN}` }], 'TOKEN_MISPLACED'],
  ['another key of connection_init', { authToken: TOKEN }, [], 'TOKEN_MISPLACED'],
  ['the key without Bearer', { Authorization: TOKEN }, [], 'TOKEN_INVALID'],
  ['no place', {}, [{ cookie: 'theme=dark' }, '/graphql/ws'], 'TOKEN_MISSING'],
] as const)('a token in %s is told its place', async (_where, payload, elsewhere, code) => {
  const secrets = { jwt_secret: SECRET };
  const { caller, told } = await socketCallerOf(payload, elsewhere, secrets, 1_000);
  expect([caller, told]).toMatchObject([undefined, { signedIn: false, code }]);
  expect(told).toHaveProperty('message', expect.stringContaining('"Bearer <token>"'));
});
