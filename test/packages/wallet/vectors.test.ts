import { readFileSync } from 'node:fs';
import { Wallet } from 'ethers';
import { expect, test } from 'vitest';
import {
  challenge,
  derivePrivateKey,
  messageDigest,
  messageSigner,
  privateKeySigner,
  signTransaction,
  toHex,
  unsignedBytes,
  unsignedDigest,
} from '../../../packages/wallet/src/index.ts';
import { argumentsJson, FUNCTION_CALL_TYPES } from '../../../schemas/function-call.ts';
import {
  decodeRaw,
  encodeRaw,
  recoverSigner,
  transactionHash,
  unsignedDigest as digestOfServer,
} from '../../../schemas/raw-transaction.ts';
import { challengeDigest, challengeOf, refuseSignIn } from '../../../schemas/sign-in.ts';
import {
  ADDRESS,
  block,
  CHAIN_ID,
  CHALLENGE,
  DOCUMENT,
  PRIVATE_KEY,
  SIGN_IN,
  TIMESTAMP,
  TRANSACTIONS,
} from './vectors.ts';

const SDL = new URL('../../../schemas/hub.graphql', import.meta.url);

test('the document shows the challenge that the package and the hub make', () => {
  expect(DOCUMENT).toContain(CHALLENGE);
  expect(challenge(CHAIN_ID, ADDRESS, TIMESTAMP)).toBe(CHALLENGE);
  expect(challengeOf(CHAIN_ID, ADDRESS, TIMESTAMP)).toBe(CHALLENGE);
});

test.each(SIGN_IN)('the hub takes the signature of the form $form', ({ form, digest, r, s, v }) => {
  expect(challengeDigest(form, CHALLENGE)).toBe(digest);
  const request = { publicKey: ADDRESS, timestamp: TIMESTAMP, signature: { r, s, v } };
  expect(refuseSignIn(request, CHAIN_ID, TIMESTAMP * 1_000)).toBeUndefined();
});

test('the package signs a challenge with a key in the raw form', async () => {
  const [raw] = SIGN_IN;
  expect(toHex(messageDigest(CHALLENGE))).toBe(raw?.digest);
  const { r, s, v } = await privateKeySigner(PRIVATE_KEY).signMessage(CHALLENGE);
  expect({ r, s, v }).toEqual({ r: raw?.r, s: raw?.s, v: raw?.v });
});

test.each(TRANSACTIONS)(
  'the package signs $unsigned.data.function_call_type with nonce $unsigned.nonce',
  async ({ unsigned, bytes, digest, raw, hash }) => {
    expect(toHex(unsignedBytes(unsigned))).toBe(bytes);
    expect(toHex(unsignedDigest(unsigned))).toBe(digest);
    const signed = await signTransaction(CHAIN_ID, unsigned, privateKeySigner(PRIVATE_KEY));
    expect(signed).toEqual({ from: ADDRESS, nonce: unsigned.nonce, raw, hash });
  },
);

test.each(TRANSACTIONS)(
  'the chain reads $unsigned.data.function_call_type with nonce $unsigned.nonce as it is shown',
  ({ unsigned, digest, r, s, v, raw, hash }) => {
    const bytes = Buffer.from(raw.slice(2), 'hex');
    const decoded = decodeRaw(bytes);
    if ('refused' in decoded) throw new Error(decoded.refused);
    const { chain_id, nonce, call, signature } = decoded.transaction;
    expect({ chain_id, nonce, signature }).toEqual({
      chain_id: unsigned.chain_id,
      nonce: unsigned.nonce,
      signature: { r, s, v },
    });
    expect(call.function_call_type).toBe(unsigned.data.function_call_type);
    expect(argumentsJson(call)).toEqual(unsigned.data.arguments);
    expect(digestOfServer(decoded.transaction)).toBe(digest);
    expect(encodeRaw(decoded.transaction)).toEqual(bytes);
    expect(transactionHash(bytes)).toBe(hash);
    expect(recoverSigner(decoded.transaction)).toEqual({ signer: unsigned.from });
  },
);

function builders(text: string): unknown {
  return new Set(text.match(/\bcreateUnsigned\w+/g));
}

test('the document covers every builder of the hub and every call but Mint', () => {
  expect(builders(DOCUMENT)).toEqual(builders(readFileSync(SDL, 'utf8')));
  const calls = new Set(TRANSACTIONS.map(({ unsigned }) => unsigned.data.function_call_type));
  expect(calls).toEqual(new Set(FUNCTION_CALL_TYPES.filter((type) => type !== 'Mint')));
});

test('the key that comes from a wallet is that of the document', async () => {
  const wallet = new Wallet(PRIVATE_KEY);
  const texts: string[] = [];
  const signer = messageSigner(wallet.address, (text) => {
    texts.push(text);
    return wallet.signMessage(text);
  });
  expect(DOCUMENT).toContain(`\`${await derivePrivateKey(CHAIN_ID, signer)}\``);
  expect(texts).toEqual([block('text key-text'), block('text key-text')]);
});
