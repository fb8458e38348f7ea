import assert from 'node:assert/strict';
import { parseAddress, parseHash, toHex } from '../../../schemas/address.ts';
import { coordinateProblem, coordinateText, LONGITUDE_MAX } from '../../../schemas/coordinate.ts';
import { parseDepositId } from '../../../schemas/deposit-id.ts';
import { decodeDecimal, encodeDecimal, parseAmount } from '../../../schemas/money.ts';
import { accountOfKey } from '../../../schemas/sign-in.ts';
import { parseTronAddress, toTronAddress } from '../../../schemas/tron-address.ts';
import { TRONWEB_VECTORS } from '../../schemas/tron-vectors.ts';

export const about = 'base58check and hex addresses, hashes, ids, amounts, degrees: text and back';

export const seeds = [
  ...TRONWEB_VECTORS.slice(0, 4).flat(),
  `0x${'ab'.repeat(20)}`,
  'CD'.repeat(32),
  '0x0479be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798483ada7726a3c4655da4fbfc0e1108a8fd17b448a68554199c47d08ffb10d4b8',
  '115792089237316195423570985008687907853269984665640564039457584007913129639935',
  '-179.12345678901234',
  '01234567-89ab-8cde-9f01-23456789abcd',
];

export function fuzz(bytes: Buffer): void {
  const text = bytes.toString();
  const digits = text.toLowerCase().replace(/^0x/, '');
  const tron = parseTronAddress(text);
  if (tron !== undefined) {
    assert.equal(tron.length, 20);
    assert.equal(
      text.startsWith('T') ? toTronAddress(tron) : `41${tron.toString('hex')}`,
      text.startsWith('T') ? text : digits,
    );
  }
  // a decoder with one encoding: the bytes as base58 are read again
  if (bytes.length === 20) assert.deepEqual(parseTronAddress(toTronAddress(bytes)), bytes);
  for (const read of [parseAddress(text), parseHash(text)])
    if (read !== undefined) assert.equal(toHex(read), `0x${digits}`);
  const account = accountOfKey(text);
  if (account !== undefined) assert.match(account, /^0x[0-9a-f]{40}$/);
  const amount = parseAmount(text);
  if (amount !== undefined) assert.equal(String(amount), text);
  const decimal = decodeDecimal(bytes);
  assert.equal(decodeDecimal(encodeDecimal(decimal)), decimal);
  assert.ok(encodeDecimal(decimal).length <= Math.max(1, bytes.length));
  if (coordinateProblem(text, LONGITUDE_MAX) === undefined) {
    assert.ok(Math.abs(Number(text)) <= LONGITUDE_MAX);
    assert.equal(coordinateProblem(coordinateText(Number(text)), LONGITUDE_MAX), undefined);
  }
  const id = parseDepositId(text);
  if (id !== undefined) assert.equal(id, text.toLowerCase());
}
