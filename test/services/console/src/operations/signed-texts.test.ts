import { expect, test } from 'vitest';
import { decisionText as ledgerText } from '../../../../../schemas/operator-signature.ts';
import {
  decisionText,
  isSignIn,
} from '../../../../../services/console/src/operations/signed-texts.ts';

const LEDGER_ID = Buffer.alloc(32, 0x1d);

test.each([
  ['approve', 'DepositApproved', 'a person', LEDGER_ID],
  ['approve', 'DepositApproved', 'before the ledger is pinned', undefined],
  ['reject', 'DepositRejected', 'quotes " and \\, a line\nend, é and \u2028', LEDGER_ID],
] as const)('the page signs the text of the ledger to %s', async (verb, type, reason, id) => {
  const deposit_id = '6db65fd5-9fd3-86f6-b291-40571b5bcd6b';
  const fields = {
    actor: 'alice',
    reason,
    sequence: 12,
    decided_at: 1_790_000_000_000,
  };
  const ledger_id = id === undefined ? null : `0x${id.toString('hex')}`;
  const sums = { gross: 2n, credit: 1n };
  const one = { deposit_ids: [deposit_id], ...sums };
  expect(await decisionText({ verb, ...one, ...fields, ledger_id })).toBe(
    ledgerText({ type, deposit_id, ...fields }, id),
  );
  const many = { deposit_ids: [deposit_id, deposit_id.replace('6', '7')], ...sums };
  expect(await decisionText({ verb, ...many, ...fields, ledger_id })).toBe(
    ledgerText({ type: 'DepositsDecided', decision: verb, ...many, ...fields }, id),
  );
});

const ADDRESS = '0x7e5f4552091a69125d5dfcb7b8c2659029395bdf';
const SIGN_IN = `localhost:17030 wants you to sign in with your Ethereum account:\n${ADDRESS}\n`;

test.each([
  ['its own sign-in', SIGN_IN, true],
  ['one of another host', SIGN_IN.replace('localhost', 'evil.example'), false],
  ['one of another address', SIGN_IN.replace('0x7e', '0x7f'), false],
  ['a decision', 'CLT treasury\nOperatorsSet', false],
])('a text that a server gives, %s: it is signed: %s', (_what, text, isSigned) => {
  expect(isSignIn(text, ADDRESS, 'localhost:17030')).toBe(isSigned);
});
