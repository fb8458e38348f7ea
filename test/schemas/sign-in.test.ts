import { SigningKey } from 'ethers';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  accountOfKey,
  challengeDigest,
  challengeOf,
  refuseSignIn,
  SIGN_IN_FORMS,
  type AuthSignature,
  type SignInForm,
  type SignInRefusal,
  type SignInRequest,
} from '../../schemas/sign-in.ts';
import { signRaw, walletOf } from '../support/wallets.ts';
import { anyCharacter } from '../support/any-character.ts';

const CHAIN = 7777;
const AT = 1_700_000_000;
const ADDRESS = '0x7e5f4552091a69125d5dfcb7b8c2659029395bdf';
const KEY = new SigningKey(`0x${'0'.repeat(63)}1`);
const PUBLIC_KEY = KEY.publicKey.slice(2);
const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;

/** Signatures by private key 1, made with other software. */
const VECTORS: readonly {
  readonly form: SignInForm;
  readonly digest: string;
  readonly signature: AuthSignature;
}[] = [
  {
    form: 'raw',
    digest: '0xc059bd57386cf680c4369a963f2e32f95c15e8369ec301b43dffc8862bf8bf91',
    signature: {
      r: '0x5bd60d7f7b4156e1232c5924f8f899f1b50e5d06d81c48dd9c39d902d3a59997',
      s: '0x677654f445c728ae78d755b6ad32af13fc43a0107c1e2e8d73de7075034b4e74',
      v: 27,
    },
  },
  {
    form: 'eip191',
    digest: '0x83650df515316202292fc4fac75140dbeac3e862ff6f08ba830761f71b8749ca',
    signature: {
      r: '0x88098883a3bd055d742b69b1c6d8a01e851f132618702e7ddf881871454ced94',
      s: '0x0b29f890ab214b4fce74710bb99af5988caf2dbac5bcd28022398e9ac86aff94',
      v: 27,
    },
  },
  {
    form: 'tip191',
    digest: '0xb806042e788c11a718f824aa5f9885eb513f8efbd7f8b596ba007ab4c2391b29',
    signature: {
      r: '0x5b7085d9deba58fe5e8b135a18518c46ac6a3dc2c75ba22e32ed2d7cc8deb6ea',
      s: '0x617b9bd1b6588347b7a7a92058cbec082635aa277ab55a6544adfb6254fcf5e6',
      v: 28,
    },
  },
];

function refusal(
  request: Partial<SignInRequest>,
  chain = CHAIN,
  nowMs = AT * 1_000,
): SignInRefusal | undefined {
  const signature = VECTORS[0]?.signature ?? { r: '', s: '', v: 0 };
  return refuseSignIn({ publicKey: ADDRESS, timestamp: AT, signature, ...request }, chain, nowMs);
}

function refused(request: Partial<SignInRequest>, chain = CHAIN, nowMs = AT * 1_000): unknown {
  return refusal(request, chain, nowMs)?.refused;
}

/** Signed raw over just this text for the key that is named. */
function raw(publicKey: string, chain = CHAIN, timestamp = AT): AuthSignature {
  return signRaw(KEY, challengeOf(chain, publicKey, timestamp));
}

test('the challenge is the text that wallets sign', () => {
  const challenge = challengeOf(CHAIN, ADDRESS, AT);
  expect(challenge).toBe('service-auth:7777:0x7e5f4552091a69125d5dfcb7b8c2659029395bdf:1700000000');
  expect(Buffer.byteLength(challenge)).toBe(71);
});

test.each(VECTORS)('the digest of form $form equals that of other software', ({ form, digest }) => {
  expect(challengeDigest(form, challengeOf(CHAIN, ADDRESS, AT))).toBe(digest);
});

test('the length in the prefix counts UTF-8 bytes', async () => {
  const wallet = walletOf('browser', 'utf-8');
  const { r, s, v } = await wallet.sign('Grüße');
  const signer = SigningKey.recoverPublicKey(challengeDigest('eip191', 'Grüße'), {
    r: `0x${r}`,
    s: `0x${s}`,
    v,
  });
  expect(signer).toBe(wallet.key.publicKey);
});

test.each(VECTORS)('the signature of form $form signs in', ({ signature }) => {
  expect(refused({ signature })).toBeUndefined();
  const bare = { r: signature.r.slice(2), s: signature.s.slice(2).toUpperCase(), v: signature.v };
  expect(refused({ signature: bare })).toBeUndefined();
});

test.each(['raw', 'browser', 'tron'] as const)(
  'a wallet of kind %s signs in for its chain, time and key only',
  async (kind) => {
    const wallet = walletOf(kind, 'one');
    const signature = await wallet.sign(challengeOf(CHAIN, wallet.publicKey, AT));
    const request = { publicKey: wallet.publicKey, signature };
    expect(refused(request)).toBeUndefined();
    expect(refused(request, CHAIN + 1)).toBe('wrong_signer');
    expect(refused({ ...request, timestamp: AT + 1 })).toBe('wrong_signer');
    expect(refused({ ...request, publicKey: walletOf(kind, 'two').publicKey })).toBe(
      'wrong_signer',
    );
    expect(accountOfKey(wallet.publicKey)).toBe(wallet.account);
  },
);

test.each(SIGN_IN_FORMS.flatMap((form) => SIGN_IN_FORMS.map((other) => [form, other] as const)))(
  'a signature of form %s is valid for form %s only if they are equal',
  (form, other) => {
    const { r, s, v } = KEY.sign(challengeDigest(form, challengeOf(CHAIN, ADDRESS, AT)));
    const recovered = SigningKey.recoverPublicKey(
      challengeDigest(other, challengeOf(CHAIN, ADDRESS, AT)),
      { r, s, v },
    );
    expect(recovered === KEY.publicKey).toBe(form === other);
  },
);

test('challenges with other text, or without a chain, are refused', () => {
  for (const text of [
    `service-auth:${ADDRESS}:${AT}`,
    `service-auth:${CHAIN}:${ADDRESS}:${AT} `,
    `service-auth:0x1e61:${ADDRESS}:${AT}`,
    `Service-Auth:${CHAIN}:${ADDRESS}:${AT}`,
    `service-auth:${CHAIN}:${ADDRESS.toUpperCase()}:${AT}`,
    '',
  ]) {
    for (const form of SIGN_IN_FORMS) {
      const { r, s, v } = KEY.sign(challengeDigest(form, text));
      expect([text, form, refused({ signature: { r, s, v } })]).toEqual([
        text,
        form,
        'wrong_signer',
      ]);
    }
  }
});

test.each([
  [-121, 'wrong_time'],
  [-120, undefined],
  [-119, undefined],
  [0, undefined],
  [119, undefined],
  [120, undefined],
  [121, 'wrong_time'],
])('a challenge of %i seconds from now: %s', (seconds, expected) => {
  const timestamp = AT + seconds;
  const signature = raw(ADDRESS, CHAIN, timestamp);
  for (const ms of [0, 1, 999])
    expect(refused({ timestamp, signature }, CHAIN, AT * 1_000 + ms)).toBe(expected);
});

test.each([0, -1, 2 ** 31, AT * 1_000, AT + 0.5, Number.NaN, Number.POSITIVE_INFINITY, 1e308])(
  'a time of %d is refused',
  (timestamp) => {
    expect(refused({ timestamp, signature: raw(ADDRESS, CHAIN, timestamp) })).toBe(
      Number.isSafeInteger(timestamp) ? 'wrong_time' : 'malformed',
    );
  },
);

test.each([
  ['the address in lower case', ADDRESS],
  ['the address with its checksum', '0x7E5F4552091A69125d5DfCb7b8C2659029395Bdf'],
  ['the public key', PUBLIC_KEY],
  ['the public key with 0x', `0x${PUBLIC_KEY}`],
  ['the public key in upper case', PUBLIC_KEY.toUpperCase()],
])('%s signs in raw, byte for byte', (_what, publicKey) => {
  expect(refused({ publicKey, signature: raw(publicKey) })).toBeUndefined();
  expect(accountOfKey(publicKey)).toBe(ADDRESS);
});

test.each([
  ['an address without 0x', ADDRESS.slice(2)],
  ['an address with 0X', ADDRESS.replace('0x', '0X')],
  ['39 digits', ADDRESS.slice(0, -1)],
  ['41 digits', `${ADDRESS}0`],
  ['128 digits', PUBLIC_KEY.slice(2)],
  ['129 digits', PUBLIC_KEY.slice(1)],
  ['131 digits', `${PUBLIC_KEY}0`],
  ['a compressed key', KEY.compressedPublicKey],
  ['a hybrid key', PUBLIC_KEY.replace(/^04/, '06')],
  ['a line break at its end', `${ADDRESS}\n`],
  ['a colon', `${ADDRESS}:`],
  ['no digits', `0x${'g'.repeat(40)}`],
  ['full-width digits', ADDRESS.replaceAll('1', '１')],
  ['a TRON address', 'TMVQGm1qAQYVdetCeGRRkTWYYrLXuHK2HC'],
  ['nothing', ''],
])('a key with %s signs in nobody', (_what, publicKey) => {
  expect(refused({ publicKey, signature: raw(publicKey) })).toBe('malformed');
  expect(accountOfKey(publicKey)).toBeUndefined();
});

test('a key on no point of the curve is refused', () => {
  const off = `04${'1'.repeat(128)}`;
  expect(refused({ publicKey: off, signature: raw(off) })).toBe('wrong_signer');
  expect(accountOfKey(off)).toBeUndefined();
});

test.each(['eip191', 'tip191'] as const)(
  'form %s requires a lower-case address as publicKey',
  (form) => {
    for (const publicKey of [PUBLIC_KEY, '0x7E5F4552091A69125d5DfCb7b8C2659029395Bdf']) {
      const { r, s, v } = KEY.sign(challengeDigest(form, challengeOf(CHAIN, publicKey, AT)));
      expect(refused({ publicKey, signature: { r, s, v } })).toBe('wrong_form');
    }
  },
);

const good = raw(ADDRESS);
const hex = (value: bigint): string => `0x${value.toString(16).padStart(64, '0')}`;
const BAD: readonly (readonly [string, Partial<AuthSignature>])[] = [
  ...[0, 1, 2, 26, 29, 35, 37, -1, 27.5, Number.NaN].map((v) => [`v ${v}`, { v }] as const),
  ['the other v', { v: good.v === 27 ? 28 : 27 }],
  ...(['r', 's'] as const).flatMap((name) => [
    [`${name} of 31 bytes`, { [name]: good[name].slice(0, -2) }] as const,
    [`${name} of 33 bytes`, { [name]: `${good[name]}00` }] as const,
    [`${name} of an odd length`, { [name]: good[name].slice(0, -1) }] as const,
    [`no ${name}`, { [name]: '' }] as const,
    [`${name} that is 0x alone`, { [name]: '0x' }] as const,
    [`${name} with a line break`, { [name]: `${good[name]}\n` }] as const,
    [`${name} that is no hex`, { [name]: 'z'.repeat(64) }] as const,
    [`${name} 0`, { [name]: hex(0n) }] as const,
    [`${name} n`, { [name]: hex(ORDER) }] as const,
    [`${name} n + 1`, { [name]: hex(ORDER + 1n) }] as const,
    [`${name} of all ones`, { [name]: `0x${'f'.repeat(64)}` }] as const,
  ]),
  ['s in the upper half, with the v of the lower', { s: hex(ORDER - BigInt(good.s)) }],
  ['s 1, which is of another key', { s: hex(1n) }],
  ['s n - 1, which is of another key', { s: hex(ORDER - 1n) }],
  ['r on no point of the curve', { r: hex(5n) }],
];

test.each(VECTORS)('form $form signs in with s in the upper half too', ({ signature }) => {
  const { r, s, v } = signature;
  const upper = { r, s: hex(ORDER - BigInt(s)), v: 55 - v };
  expect(refused({ signature: upper })).toBeUndefined();
  expect(refused({ signature: upper, timestamp: AT + 1 })).toBe('wrong_signer');
});

const CHECKSUMMED = '0x7E5F4552091A69125d5DfCb7b8C2659029395Bdf';
const prefixed = KEY.sign(challengeDigest('eip191', challengeOf(CHAIN, CHECKSUMMED, AT)));
test.each<[string, Partial<SignInRequest>, string, string]>([
  [
    'an address of TRON',
    { publicKey: 'TMVQGm1qAQYVdetCeGRRkTWYYrLXuHK2HC' },
    'malformed',
    '0x in place of the 41',
  ],
  ['r of another length', { signature: { ...good, r: '0x1' } }, 'malformed', '32 bytes'],
  ['the parity as v', { signature: { ...good, v: good.v - 27 } }, 'malformed', 'add 27'],
  ['v of EIP-155', { signature: { ...good, v: 37 } }, 'malformed', '27 or 28'],
  ['s that is out of range', { signature: { ...good, s: hex(ORDER) } }, 'malformed', 'order'],
  ['a fraction of seconds', { timestamp: AT + 0.5 }, 'malformed', 'Unix seconds'],
  ['an old challenge', { timestamp: AT - 121 }, 'wrong_time', '121 s old'],
  [
    'a challenge of the future',
    { timestamp: AT + 180 },
    'wrong_time',
    `180 s ahead, at most 120 s are taken, and the server's time is ${AT}: set your clock`,
  ],
  [
    'the prefix, for a checksummed address',
    { publicKey: CHECKSUMMED, signature: prefixed },
    'wrong_form',
    'lower case',
  ],
  [
    'the chain of another',
    { signature: raw(ADDRESS, CHAIN + 1) },
    'wrong_signer',
    `for chain ${CHAIN}`,
  ],
  [
    'the key of another',
    { signature: signRaw(new SigningKey(hex(2n)), challengeOf(CHAIN, ADDRESS, AT)) },
    'wrong_signer',
    'accounts of contracts',
  ],
])('the refusal of %s says what is wrong', (_what, request, reason, words) => {
  expect(refusal(request)).toEqual({ refused: reason, message: expect.stringContaining(words) });
});

test.each(BAD)('a signature with %s is refused', (_what, change) => {
  expect(refused({ signature: good })).toBeUndefined();
  expect(refused({ signature: { ...good, ...change } })).toMatch(/^(malformed|wrong_signer)$/);
});

test('random requests are refused without throwing', () => {
  const word = fc.oneof(
    fc.string({ unit: anyCharacter }),
    fc.string({
      unit: fc.constantFrom(...'0123456789abcdef'.split('')),
      minLength: 64,
      maxLength: 64,
    }),
  );
  fc.assert(
    fc.property(
      fc.oneof(word, fc.constant(ADDRESS)),
      word,
      word,
      fc.oneof(fc.integer(), fc.constantFrom(27, 28)),
      (publicKey, r, s, v) => {
        expect(refused({ publicKey, signature: { r, s, v } })).toMatch(
          /^(malformed|wrong_signer)$/,
        );
      },
    ),
    { numRuns: 30 },
  );
});
