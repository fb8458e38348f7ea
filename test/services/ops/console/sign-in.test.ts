import { expect, test } from 'vitest';
import { decisionText } from '../../../../schemas/operator-signature.ts';
import { SESSION_MS, SignIns, type Admission } from '../../../../services/ops/console/sign-in.ts';
import { addressOf, alice, bob, BY, mallory } from '../../../support/operators.ts';

const ORIGIN = 'http://127.0.0.1:17030';

function opened(admission: () => Admission = () => ({ operators: [alice, bob].map(addressOf) })) {
  const clock = { now: Date.parse('2026-11-21T12:00:00Z') };
  let count = 0;
  const random = (bytes: number): Buffer => Buffer.alloc(bytes, ++count);
  return { clock, signIns: new SignIns({ admission, now: () => clock.now, random }) };
}

type Opened = ReturnType<typeof opened>;

function textOf({ signIns }: Opened, { address } = alice): string {
  const made = signIns.challenge(address, ORIGIN);
  if ('refused' in made) throw new Error(made.message);
  return made.text;
}

function sign(text: string, wallet = alice): Buffer {
  return Buffer.from(wallet.signMessageSync(text).slice(2), 'hex');
}

test('the text is a sign-in of EIP-4361 at this page, which is no decision', () => {
  const own = opened();
  expect(textOf(own).split('\n')).toEqual([
    '127.0.0.1:17030 wants you to sign in with your Ethereum account:',
    alice.address,
    '',
    'Look at the operations of the CLT system. This decides nothing.',
    '',
    `URI: ${ORIGIN}`,
    'Version: 1',
    'Chain ID: 1',
    `Nonce: ${'01'.repeat(16)}`,
    'Issued At: 2026-11-21T12:00:00.000Z',
    'Expiration Time: 2026-11-21T12:02:00.000Z',
  ]);
});

test('a signed text opens a session once, and the session ends after its time', () => {
  const own = opened();
  const text = textOf(own);
  const session = own.signIns.open(text, sign(text));
  expect(session).toMatchObject({ operator: addressOf(alice) });
  expect(own.signIns.open(text, sign(text))).toMatchObject({ refused: 'unknown_challenge' });
  const token = 'token' in session ? session.token : '';
  own.clock.now += SESSION_MS - 1;
  expect(own.signIns.of(token)).toMatchObject({ operator: addressOf(alice) });
  own.clock.now += 2;
  expect(own.signIns.of(token)).toBeUndefined();
});

const approval = decisionText({ type: 'DepositApproved', ...BY, deposit_id: 'x' });

test.each<readonly [string, (own: Opened) => ReturnType<SignIns['open']>, string]>([
  ['another operator signed', (own) => open(own, (text) => sign(text, bob)), 'foreign_key'],
  ['a stranger signed', (own) => open(own, (text) => sign(text, mallory)), 'foreign_key'],
  [
    'a stranger asked and signed',
    (own) => open(own, (text) => sign(text, mallory), mallory),
    'foreign_key',
  ],
  ['another text was signed', (own) => open(own, (text) => sign(`${text}.`)), 'foreign_key'],
  ['a decision was signed', (own) => open(own, () => sign(approval)), 'foreign_key'],
  [
    'the signature is too short',
    (own) => open(own, (text) => sign(text).subarray(1)),
    'foreign_key',
  ],
  ['the signature is zero', (own) => open(own, () => Buffer.alloc(65)), 'foreign_key'],
  [
    'the text is of another server',
    ({ signIns }) => signIns.open('x', sign('x')),
    'unknown_challenge',
  ],
  [
    'the text is a decision',
    ({ signIns }) => signIns.open(approval, sign(approval)),
    'unknown_challenge',
  ],
  [
    'the text is too old',
    (own) => {
      const text = textOf(own);
      own.clock.now += 120_001;
      return own.signIns.open(text, sign(text));
    },
    'unknown_challenge',
  ],
])('a sign-in is refused where %s', (_why, attempt, refused) => {
  expect(attempt(opened())).toMatchObject({ refused });
});

test('a sign-in with another account of the wallet is told from that of a stranger', () => {
  const [other, nobody] = [bob, mallory].map((who) =>
    open(opened(), (text) => sign(text, who), who === bob ? alice : who),
  );
  expect(other).toMatchObject({ message: expect.stringContaining('choose this account') });
  expect(nobody).toMatchObject({ message: expect.stringContaining('among the operators') });
});

function open(own: Opened, signature: (text: string) => Buffer, who = alice) {
  const text = textOf(own, who);
  return own.signIns.open(text, signature(text));
}

test('a wrong signature uses the text up', () => {
  const own = opened();
  const text = textOf(own);
  own.signIns.open(text, sign(text, mallory));
  expect(own.signIns.open(text, sign(text))).toMatchObject({ refused: 'unknown_challenge' });
});

test('an operator who is replaced is not signed in any more', () => {
  let operators = [alice, bob].map(addressOf);
  const own = opened(() => ({ operators }));
  const text = textOf(own);
  const session = own.signIns.open(text, sign(text));
  const token = 'token' in session ? session.token : '';
  operators = [addressOf(bob)];
  expect(own.signIns.of(token)).toBeUndefined();
});

test('nobody signs in while the ledger is not known, and any key where there are no operators', () => {
  const closed = opened(() => ({ refused: 'not_ready', message: 'wait' }));
  expect(closed.signIns.challenge(alice.address, ORIGIN)).toMatchObject({ refused: 'not_ready' });
  const free = opened(() => ({ operators: undefined }));
  expect(open(free, (text) => sign(text, mallory), mallory)).toMatchObject({
    operator: addressOf(mallory),
  });
});

test('an address that is none gets no text', () => {
  expect(opened().signIns.challenge('0x12', ORIGIN)).toMatchObject({ refused: 'invalid_request' });
});
