import { expect, test } from 'vitest';
import type { FunctionCall } from '../../../../schemas/function-call.ts';
import { encodeRaw } from '../../../../schemas/raw-transaction.ts';
import { deriveKey, signCall } from '../../../../infra/devnet/clt/keys.ts';
import { verifiedByUs, verify } from '../../../../infra/devnet/clt/execute.ts';

const KEY = deriveKey('seed', 'somebody');
const CALL: FunctionCall = {
  function_call_type: 'Transfer',
  arguments: { to: `0x${'77'.repeat(20)}`, amount: 5n },
};

test('verify recovers the signer, and verifiedByUs gives the same result', () => {
  const raw = signCall(KEY, 7777, 3, CALL);
  expect(verify(raw, 7777)).toMatchObject({ from: KEY.address, nonce: 3, call: CALL });
  expect(verifiedByUs(raw, KEY.address)).toEqual(verify(raw, 7777));
});

test('another chain, malformed bytes and an invalid signature have distinct refusals', () => {
  expect(verify(signCall(KEY, 1, 3, CALL), 7777)).toMatchObject({ refused: 'wrong_chain' });
  expect(verify(Uint8Array.of(0xc0), 7777)).toMatchObject({
    refused: 'invalid_transaction',
    message: expect.stringContaining('wrong_arity'),
  });
  const nobody = {
    r: `0x${'5'.padStart(64, '0')}`,
    s: `0x${'1'.padStart(64, '0')}`,
    v: 27,
  } as const;
  expect(
    verify(encodeRaw({ chain_id: 7777, nonce: 0, call: CALL, signature: nobody }), 7777),
  ).toMatchObject({ refused: 'bad_signature' });
});

test('the same seed and name give the same key; other names give others', () => {
  expect(deriveKey('seed', 'somebody').address).toBe(KEY.address);
  expect(deriveKey('seed', 'nobody').address).not.toBe(KEY.address);
  expect(deriveKey('seeds', 'omebody').address).not.toBe(KEY.address);
});
