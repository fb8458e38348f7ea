import { expect, test } from 'vitest';
import { mintAuthorityKey, signCall } from '../../../../infra/devnet/clt/keys.ts';
import { toHex } from '../../../../schemas/address.ts';
import { decodeRaw, recoverSigner } from '../../../../schemas/raw-transaction.ts';
import { MintSigner, parseMintKey } from '../../../../services/treasury/minting/mint-signer.ts';

const KEY = mintAuthorityKey('test');
const CALL = {
  nonce: 7,
  to: Buffer.alloc(20, 0xc1),
  amount: 8_000_000n,
  reference: Buffer.alloc(32, 0xee),
};

test('the chain decodes a signed Mint, which has the same bytes and hash each time', () => {
  const signer = new MintSigner(KEY.signing_key.privateKey, 7777);
  const { raw, tx_hash } = signer.sign(CALL);
  expect(toHex(signer.address)).toBe(KEY.address);
  expect(signer.sign(CALL)).toEqual({ raw, tx_hash });
  const arguments_ = { to: toHex(CALL.to), amount: CALL.amount, reference: toHex(CALL.reference) };
  expect(
    raw.equals(signCall(KEY, 7777, 7, { function_call_type: 'Mint', arguments: arguments_ })),
  ).toBe(true);
  const decoded = decodeRaw(raw);
  if ('refused' in decoded) throw new Error(decoded.refused);
  expect(decoded.transaction).toMatchObject({
    chain_id: 7777,
    nonce: 7,
    call: { function_call_type: 'Mint', arguments: arguments_ },
  });
  expect(recoverSigner(decoded.transaction)).toEqual({ signer: KEY.address });
  expect(signer.sign({ ...CALL, nonce: 8 }).tx_hash.equals(tx_hash)).toBe(false);
});

test('a key is 64 hex digits, with or without 0x, within the order of the curve', () => {
  const hex = 'AB'.repeat(32);
  expect([parseMintKey(hex), parseMintKey(`0x${hex}`)]).toEqual([
    `0x${'ab'.repeat(32)}`,
    `0x${'ab'.repeat(32)}`,
  ]);
  const order = 'fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141';
  expect(
    ['', '0x', '0', 'ab'.repeat(31), '0'.repeat(64), order, `${hex} `].map(parseMintKey),
  ).toEqual(Array.from({ length: 7 }, () => undefined));
});
