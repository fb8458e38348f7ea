/** The audit on correct logs, and on what a mutation of one record cannot make. */
import { expect, test } from 'vitest';
import type { MintIntended } from '../../../../schemas/treasury.ledger/events.ts';
import { ChainByHand, named } from '../../../support/chain-by-hand.ts';
import { BEGIN } from '../../../support/deposit-log.ts';
import { metricsText } from '../../../../services/ops/audit/audit.ts';
import { audited, type Logs } from './audited.ts';
import { AUTHORITY, TreasuryByHand, USD } from './treasury-by-hand.ts';

/**
 * Four transfers to three addresses, one of them too small: confirmed, minted, final and credited.
 */
function healthy(): Logs {
  const treasury = new TreasuryByHand();
  treasury.pay(0, 10n * USD);
  treasury.pay(0, 10n * USD);
  treasury.pay(1, 20n * USD);
  treasury.pay(2, 2n * USD);
  treasury.mint();
  return treasury.logs;
}

test('correct logs have no violation, and every check is counted', () => {
  const { findings, waiting } = audited(healthy());
  expect(findings.violations).toEqual([]);
  expect(waiting).toBe(0);
  expect(findings.checked).toMatchObject({
    I1: 4,
    I2: 18,
    I3: 6,
    I4: 6,
    I5: 12,
    I6: 11,
    I11: 1,
    I13: 3,
    I15: 24,
  });
});

/** The invariant of the first violation, and its place. */
function firstOf(logs: Logs): string {
  const [first] = audited(logs).findings.violations;
  return `${first?.invariant} ${first?.topic}/${first?.partition}@${first?.offset}`;
}

test('a transfer left out before one that is a deposit is a violation at the next deposit', () => {
  const logs = healthy();
  const first = logs.ledger.find(({ type }) => type === 'DepositConfirmed');
  const ledger = logs.ledger.map((event) =>
    event === first ? { ...event, sequence: 9_999 } : event,
  );
  expect(firstOf({ ...logs, ledger })).toBe('I6 treasury.ledger/0@2');
});

test('a credit without a Mint is a violation at its intent', () => {
  const logs = healthy();
  const chain = logs.chain.map((event) =>
    event.type === 'BlockAppended' && event.height === 1
      ? { ...event, transactions: [], balance_effects: [] }
      : event,
  );
  expect(firstOf({ ...logs, chain })).toBe('I2 treasury.ledger/0@6');
});

test('a final Mint that the ledger gave up and a second Mint are violations', () => {
  const logs = healthy();
  const intent = logs.ledger.find((event): event is MintIntended => event.type === 'MintIntended');
  if (intent === undefined) throw new Error('there is an intent');
  const ledger = logs.ledger.slice(0, 9);
  const at = ledger.length;
  const of = { deposit_id: intent.deposit_id, decided_at: BEGIN };
  const dead = {
    type: 'MintDead',
    ...of,
    sequence: at,
    tx_hash: intent.tx_hash,
    nonce: intent.nonce,
    other_tx_hash: named('other', 32),
    block_height: 1,
  } as const;
  const again = { ...intent, sequence: at + 1, nonce: 9, tx_hash: named('again', 32) };
  const chain = new ChainByHand();
  const mint = {
    from: AUTHORITY,
    to: intent.to,
    amount: intent.amount,
    function_call_type: 'Mint',
  };
  const effect = { address: intent.to, kind: 'mint', delta: intent.amount };
  chain.append({
    transactions: [
      { ...mint, hash: intent.tx_hash },
      { ...mint, hash: again.tx_hash, nonce: 9 },
    ],
    effects: [
      { ...effect, tx_index: 0 },
      { ...effect, tx_index: 1 },
    ],
  });
  chain.finalize();
  const { findings } = audited({ ...logs, ledger: [...ledger, dead, again], chain: chain.log });
  expect(findings.violations).toMatchObject([
    { invariant: 'I2', what: expect.stringContaining('has given it up') },
    { invariant: 'I2', what: expect.stringContaining('is minted twice') },
  ]);
  const once = new ChainByHand();
  once.append({
    transactions: [{ ...mint, hash: intent.tx_hash }],
    effects: [{ ...effect, tx_index: 0 }],
  });
  once.finalize();
  const only = audited({ ...logs, ledger: [...ledger, dead], chain: once.log });
  expect(only.findings.violations).toMatchObject([
    { invariant: 'I2', what: expect.stringContaining('has given it up') },
  ]);
});

/** A Mint becomes final after an operator has released it; the next one has the same nonce. */
function released({ isAcknowledged }: { readonly isAcknowledged: boolean }): Logs {
  const treasury = new TreasuryByHand();
  treasury.begin();
  treasury.pay(0, 10n * USD);
  treasury.request();
  const [mint] = treasury.ledger.live.values();
  if (mint === undefined) throw new Error('nothing was requested');
  const by = { sequence: 0, decided_at: BEGIN, actor: 'alice', reason: 'no block takes it' };
  treasury.write([{ type: 'DepositRejected', ...by, deposit_id: mint.deposit_id }]);
  treasury.run();
  treasury.pay(1, 10n * USD);
  treasury.request();
  const { height } = treasury.mine([mint]);
  const { tx_hash, to, amount } = mint;
  const acknowledged = { type: 'MintAcknowledged', ...by, tx_hash, to, amount } as const;
  if (!isAcknowledged) return treasury.logs;
  treasury.write([{ ...acknowledged, block_height: height }]);
  treasury.run();
  return treasury.logs;
}

test('a final Mint that an operator released is a violation until it is acknowledged', () => {
  expect(audited(released({ isAcknowledged: true })).findings.violations).toEqual([]);
  expect(audited(released({ isAcknowledged: false })).findings.violations).toMatchObject([
    { invariant: 'I2', what: expect.stringContaining('has given it up') },
  ]);
});

test('a transfer that the treasury has not decided is waiting, and no violation', () => {
  const { transfers, ledger } = healthy();
  const { findings, waiting } = audited({
    transfers,
    ledger: ledger.slice(0, 1),
    chain: [],
    runs: [],
  });
  expect([findings.violations, waiting]).toEqual([[], 4]);
});

test('the metrics of an audit say how many violations there were, and when certificates end', () => {
  const text = metricsText(2, [{ of: 'localhost:9092', days_left: 1.5 }], 1_000_000);
  expect(text.replaceAll(/^#.*\n/gm, '').split('\n')).toEqual([
    'audit_finished_timestamp_seconds 1000000',
    'audit_violations 2',
    'certificate_expires_timestamp_seconds{of="localhost:9092"} 1129600',
    '',
  ]);
});
