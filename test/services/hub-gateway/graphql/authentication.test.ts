import { expect, test } from 'vitest';
import { challengeOf } from '../../../../schemas/sign-in.ts';
import { SignIns } from '../../../../services/hub-gateway/graphql/authentication.ts';
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
