import { createHash } from 'node:crypto';
import { encodeBase58, getBytes, HDNodeWallet, sha256 } from 'ethers';
import { expect, test } from 'vitest';
import { readDepositKey, type DepositKey } from '../../schemas/deposit-address.ts';
import { toTronAddress } from '../../schemas/tron-address.ts';

const MNEMONIC = 'test test test test test test test test test test test junk';
const wallet = HDNodeWallet.fromPhrase(MNEMONIC, undefined, "m/44'/195'/0'/0");
const XPUB = wallet.neuter().extendedKey;

function keyOf(text: string): DepositKey {
  const read = readDepositKey(text);
  if ('problem' in read) throw new Error(read.problem);
  return read.key;
}

function problemOf(text: string): string {
  const read = readDepositKey(text);
  return 'problem' in read ? read.problem : 'none';
}

/** With a checksum that fits. */
function withChecksum(bytes: Uint8Array): string {
  return encodeBase58(
    Buffer.concat([bytes, Buffer.from(getBytes(sha256(sha256(bytes)))).subarray(0, 4)]),
  );
}

test.each([
  [0, 'TWer2Ygk5TEheHp3TPuYeqxmB6SsGZmaL6'],
  [1, 'TPjjvMwjPoDC32V2dGDYTkLH4E5LAtBZ6C'],
])('the address at index %i is %s', (index, address) => {
  expect(toTronAddress(keyOf(XPUB).addressAt(index))).toBe(address);
});

test('the public key derives the addresses that the private one can spend from', () => {
  const key = keyOf(XPUB);
  for (const index of [0, 1, 2, 77, 65_536, 2 ** 31 - 1]) {
    expect(`0x${key.addressAt(index).toString('hex')}`).toBe(
      wallet.deriveChild(index).address.toLowerCase(),
    );
  }
});

test('keys have distinct fingerprints', () => {
  expect(keyOf(XPUB).fingerprint).toEqual(createHash('sha256').update(XPUB).digest());
  expect(keyOf(XPUB).extended_public_key).toBe(XPUB);
  const other = HDNodeWallet.fromPhrase(MNEMONIC, undefined, "m/44'/195'/1'/0").neuter()
    .extendedKey;
  expect(keyOf(other).fingerprint).not.toEqual(keyOf(XPUB).fingerprint);
});

test.each([-1, 0.5, 2 ** 31, 2 ** 53, Number.NaN, Number.POSITIVE_INFINITY])(
  'addressAt throws for index %d',
  (index) => {
    expect(() => keyOf(XPUB).addressAt(index)).toThrow(`there is no deposit address ${index}`);
  },
);

test('an extended private key of any network is refused and not repeated', () => {
  const problems = [
    wallet.extendedKey,
    wallet.extendedKey.replace('xprv', 'tprv'),
    wallet.extendedKey.slice(0, 40),
    'XPRV9',
  ].map(problemOf);
  for (const problem of problems) {
    expect(problem).toMatch(
      /^it is an extended private key, which can spend every deposit: .*set the xpub/,
    );
    expect(problem).not.toContain(wallet.extendedKey.slice(4, 20));
  }
});

test.each([
  ['nothing', ''],
  ['a mistyped character', `${XPUB.slice(0, -1)}${XPUB.endsWith('1') ? '2' : '1'}`],
  [
    'two characters swapped',
    XPUB.slice(0, 50) + XPUB.charAt(51) + XPUB.charAt(50) + XPUB.slice(52),
  ],
  ['a key cut short', XPUB.slice(0, -1)],
  ['a line break behind it', `${XPUB}\n`],
  ['a mnemonic', MNEMONIC],
])('%s is refused, and never repeated', (_what, text) => {
  const problem = problemOf(text);
  expect(problem).toMatch(/^it is no extended public key .*m\/44'\/195'\/0'\/0$/);
  if (text !== '') expect(problem).not.toContain(text);
});

test('a key whose bytes are on no point of the curve is refused', () => {
  const bytes = Buffer.concat([
    Buffer.from('0488b21e04', 'hex'),
    Buffer.alloc(8),
    Buffer.alloc(32, 1),
    Buffer.from([2]),
    Buffer.alloc(32, 0xff),
  ]);
  expect(problemOf(withChecksum(bytes))).toMatch(/^its bytes are no point of the curve/);
});

test.each([
  ["m/44'/195'/0'", 3],
  ["m/44'/195'/0'/0/0", 5],
  ['m', 0],
])('the key at %s is of another level, and refused', (path, depth) => {
  const key = HDNodeWallet.fromPhrase(MNEMONIC, undefined, path).neuter().extendedKey;
  expect(problemOf(key)).toMatch(new RegExp(`^it is at depth ${depth} of its wallet`));
});
