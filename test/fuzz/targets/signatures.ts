import assert from 'node:assert/strict';
import { hashMessage, SigningKey } from 'ethers';
import { signerOfText } from '../../../schemas/operator-signature.ts';
import {
  accountOfKey,
  challengeDigest,
  challengeOf,
  refuseSignIn,
  SIGN_IN_FORMS,
} from '../../../schemas/sign-in.ts';

export const about = 'signatures of operators and of sign-in: the key that signed, or none';

const TEXT = 'CLT treasury';
const CHAIN_ID = 1;
const NOW = 1_800_000_000;
const key = new SigningKey(`0x${'11'.repeat(32)}`);
const ADDRESS = accountOfKey(key.publicKey) ?? '';

/** r, s, v and a byte for the form of the key. */
function bytesOf(digest: string, form: number): Buffer {
  return Buffer.concat([
    Buffer.from(key.sign(digest).serialized.slice(2), 'hex'),
    Buffer.from([form]),
  ]);
}

const KEYS = [
  ADDRESS,
  key.publicKey,
  key.publicKey.slice(2),
  ADDRESS.toUpperCase().replace('X', 'x'),
  '',
];

export const seeds = [
  bytesOf(hashMessage(TEXT), 0).subarray(0, 65),
  ...SIGN_IN_FORMS.flatMap((form) =>
    KEYS.map((publicKey, at) =>
      bytesOf(challengeDigest(form, challengeOf(CHAIN_ID, publicKey, NOW)), at),
    ),
  ),
];

export function fuzz(bytes: Buffer): void {
  const signer = signerOfText(TEXT, bytes);
  if (signer !== undefined) assert.equal(signer.length, 20);
  const r = `0x${bytes.toString('hex', 0, 32)}`;
  const s = bytes.toString('hex', 32, 64);
  const publicKey = KEYS[bytes[65] ?? 0] ?? bytes.toString('latin1', 66);
  const refused = refuseSignIn(
    { publicKey, timestamp: NOW, signature: { r, s, v: bytes[64] ?? 0 } },
    CHAIN_ID,
    NOW * 1_000,
  );
  if (refused === undefined) {
    assert.equal(accountOfKey(publicKey), ADDRESS, 'only the key itself signs in');
    for (const other of [CHAIN_ID + 1, 0])
      assert.equal(
        refuseSignIn(
          { publicKey, timestamp: NOW, signature: { r, s, v: bytes[64] ?? 0 } },
          other,
          NOW * 1_000,
        )?.refused,
        'wrong_signer',
      );
  } else assert.match(refused.refused, /^malformed$|^wrong_(?:form|signer)$/);
}
