/** The audit on correct logs, and on each with one mutation, which it must name with its offset. */
import { expect, test } from 'vitest';
import type { BlockAppended, ChainEvent } from '../../../../schemas/chain.blocks/events.ts';
import type {
  DepositConfirmed,
  DepositEvent,
  MintIntended,
  TreasuryEvent,
} from '../../../../schemas/treasury.ledger/events.ts';
import { depositIdOf } from '../../../../schemas/deposit-id.ts';
import type { Invariant } from '../../../../services/ops/audit/findings.ts';
import { ChainByHand, named } from '../../../support/chain-by-hand.ts';
import { accountAt, BEGIN, depositKey } from '../../../support/deposit-log.ts';
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

function ledgerWith(change: (event: TreasuryEvent) => TreasuryEvent): Logs {
  const logs = healthy();
  return { ...logs, ledger: logs.ledger.map(change) };
}

function confirmed(change: Partial<DepositConfirmed>): Logs {
  return ledgerWith((event) =>
    event.type === 'DepositConfirmed' && event.sequence === 1 ? { ...event, ...change } : event,
  );
}

function blockWith(change: (block: BlockAppended) => Partial<BlockAppended>): Logs {
  const logs = healthy();
  const changed = (event: ChainEvent): ChainEvent =>
    event.type === 'BlockAppended' && event.height === 1
      ? Object.assign(event, change(event))
      : event;
  return { ...logs, chain: logs.chain.map(changed) };
}

function withoutFirstTransferOf(logs: Logs, account: number): Logs {
  const address = depositKey().addressAt(account);
  const first = logs.ledger.find(
    (event) => event.type === 'DepositConfirmed' && event.deposit_address.equals(address),
  );
  return {
    ...logs,
    ledger: logs.ledger.map((event) => (event === first ? { ...event, sequence: 9_999 } : event)),
  };
}

/** One event more, written for just the place where it stands. */
function ledgerAnd(
  make: (ids: { readonly held: string; readonly credited: string }) => DepositEvent,
): Logs {
  const logs = healthy();
  const first = (type: DepositEvent['type']): string =>
    logs.ledger.flatMap((event) => (event.type === type ? [event.deposit_id] : []))[0] ?? '';
  const event = make({ held: first('DepositHeld'), credited: first('MintCredited') });
  return { ...logs, ledger: [...logs.ledger, { ...event, sequence: logs.ledger.length }] };
}

const LATER = { sequence: 0, decided_at: BEGIN };
const WRONG: readonly (readonly [
  what: string,
  make: () => Logs,
  invariant: Invariant,
  place: string,
  says: RegExp,
])[] = [
  [
    'a deposit that is no transfer',
    () => confirmed({ tx_id: named('x', 32), deposit_id: depositIdOf(named('x', 32), 0) }),
    'I1',
    'treasury.ledger/0@1',
    /is no transfer/,
  ],
  [
    'a deposit with the id of another transfer',
    () => confirmed({ deposit_id: '00000000-0000-8000-8000-000000000000' }),
    'I6',
    'treasury.ledger/0@1',
    /DepositConfirmed of deposit .* has no effect/,
  ],
  [
    'another gross than arrived',
    () => confirmed({ gross: 11n * USD, credit: 9n * USD }),
    'I1',
    'treasury.ledger/0@1',
    /says that 11000000 arrived/,
  ],
  [
    'another fee than the policy says',
    () => confirmed({ fee: 1n * USD, credit: 9n * USD }),
    'I6',
    'treasury.ledger/0@1',
    /DepositConfirmed of deposit .* has no effect/,
  ],
  [
    'another owner',
    () => confirmed({ clt_address: accountAt(2) }),
    'I1',
    'treasury.ledger/0@1',
    /another address or owner/,
  ],
  [
    'a transfer left out before one that is a deposit',
    () => withoutFirstTransferOf(healthy(), 0),
    'I6',
    'treasury.ledger/0@2',
    /DepositConfirmed of deposit .* has no effect/,
  ],
  [
    'a Mint that was never requested',
    () =>
      blockWith(({ transactions: [first, ...rest] }) => ({
        transactions: first === undefined ? [] : [{ ...first, hash: named('x', 32) }, ...rest],
      })),
    'I2',
    'chain.blocks/0@2',
    /was never requested/,
  ],
  [
    'a credit without a Mint',
    () => blockWith(() => ({ transactions: [], balance_effects: [] })),
    'I2',
    'treasury.ledger/0@6',
    /which the chain does not have/,
  ],
  [
    'a credit of what was never requested',
    () =>
      ledgerAnd(({ held: id }) => ({
        ...LATER,
        type: 'MintCredited',
        deposit_id: id,
        tx_hash: named('x', 32),
        block_height: 1,
        block_hash: named('b', 32),
      })),
    'I6',
    'treasury.ledger/0@12',
    /MintCredited of deposit .* has no effect/,
  ],
  [
    'a rejection of what is credited',
    () =>
      ledgerAnd(({ credited: id }) => ({
        ...LATER,
        type: 'DepositRejected',
        deposit_id: id,
        actor: 'a',
        reason: 'b',
      })),
    'I6',
    'treasury.ledger/0@12',
    /DepositRejected of deposit .* has no effect/,
  ],
  [
    'an intent for what waits for a person',
    () =>
      ledgerAnd(({ held: id }) => ({
        ...LATER,
        type: 'MintIntended',
        deposit_id: id,
        nonce: 9,
        to: accountAt(2),
        amount: 1n,
        fee: 2n * USD,
        policy_version: 1,
        tx_hash: named('x', 32),
      })),
    'I4',
    'treasury.ledger/0@12',
    /MintIntended of deposit .* has no effect/,
  ],
  [
    'a credit in another block than the one of its Mint',
    () =>
      ledgerWith((event) =>
        event.type === 'MintCredited' && event.sequence === 9
          ? { ...event, block_height: 0 }
          : event,
      ),
    'I2',
    'treasury.ledger/0@6',
    /which the chain does not have/,
  ],
  [
    'a mint given up for a transaction that the chain does not have',
    () =>
      ledgerWith((event) =>
        event.type === 'MintCredited' && event.sequence === 11
          ? {
              type: 'MintDead',
              sequence: 11,
              decided_at: BEGIN,
              deposit_id: event.deposit_id,
              tx_hash: event.tx_hash,
              nonce: 2,
              other_tx_hash: named('x', 32),
              block_height: 1,
            }
          : event,
      ),
    'I2',
    'chain.blocks/0@2',
    /is final, and the ledger has given it up/,
  ],
  [
    'a Mint of another amount',
    () =>
      blockWith(({ transactions, balance_effects: effects }) => ({
        transactions: transactions.map((each) => ({ ...each, amount: each.amount + 1n })),
        balance_effects: effects.map((each) => ({ ...each, delta: each.delta + 1n })),
      })),
    'I3',
    'chain.blocks/0@2',
    /is not what was requested/,
  ],
];

test.each(WRONG)('%s', (_what, make, invariant, place, says) => {
  const { findings } = audited(make());
  const [first] = findings.violations;
  expect(first).toMatchObject({ invariant, what: expect.stringMatching(says) });
  expect(`${first?.topic}/${first?.partition}@${first?.offset}`).toBe(place);
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
