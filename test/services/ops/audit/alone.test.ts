/** Each invariant fails alone: a change of correct logs that breaks it and no other. */
import { expect, test } from 'vitest';
import type { BlockAppended } from '../../../../schemas/chain.blocks/events.ts';
import { hashOfValue, headAfter, NO_RECORDS } from '../../../../schemas/hash-chain.ts';
import type { ReserveReconciled } from '../../../../schemas/reserve.runs/events.ts';
import type { DepositApproved, TreasuryEvent } from '../../../../schemas/treasury.ledger/events.ts';
import { INVARIANTS, type Invariant } from '../../../../services/ops/audit/findings.ts';
import { ChainByHand, named, type BlockByHand } from '../../../support/chain-by-hand.ts';
import { BEGIN, depositKey } from '../../../support/deposit-log.ts';
import { alice, mallory, signed } from '../../../support/operators.ts';
import { audited, type Logs } from './audited.ts';
import { AUTHORITY, CUSTODY, TreasuryByHand, USD } from './treasury-by-hand.ts';

/** Two deposits are credited, one is held for its size; a run after each step. */
function healthy(): TreasuryByHand {
  const treasury = new TreasuryByHand();
  treasury.begin();
  return worked(treasury);
}

function worked(treasury: TreasuryByHand): TreasuryByHand {
  treasury.run();
  treasury.pay(0, 10n * USD);
  treasury.pay(1, 20n * USD);
  treasury.run();
  treasury.mint();
  treasury.run();
  treasury.pay(2, 2_000n * USD);
  treasury.run();
  return treasury;
}

function withLedger(change: (event: TreasuryEvent) => TreasuryEvent): Logs {
  const { logs } = healthy();
  return { ...logs, ledger: logs.ledger.map(change), runs: [] };
}

/** The block with the Mints is another. */
function withBlock(
  { logs }: TreasuryByHand,
  change: (block: BlockAppended) => Partial<BlockAppended>,
): Logs {
  const chain = logs.chain.map((event) =>
    event.type === 'BlockAppended' && event.height === 1 ? { ...event, ...change(event) } : event,
  );
  return { ...logs, chain, runs: [] };
}

/** One more final block. */
function withBlockMore(block: BlockByHand): Logs {
  const treasury = healthy();
  treasury.chain.append(block);
  treasury.chain.finalize();
  return treasury.logs;
}

/** One more record, which the fold may ignore. */
function withRecord(make: (held: string, credited: string) => TreasuryEvent): Logs {
  const { logs } = healthy();
  const id = (type: TreasuryEvent['type']): string =>
    logs.ledger.flatMap((event) =>
      event.type === type && 'deposit_id' in event ? [event.deposit_id] : [],
    )[0] ?? '';
  const event = make(id('DepositHeld'), id('MintCredited'));
  return { ...logs, ledger: [...logs.ledger, { ...event, sequence: logs.ledger.length }] };
}

const OF = { sequence: 0, decided_at: BEGIN };
const BY = { ...OF, actor: 'mallory', reason: 'for fun' };

function approval(held: string): DepositApproved {
  return { type: 'DepositApproved', ...BY, deposit_id: held };
}

/** A run finds money missing; then a mint is requested this many minutes later. */
function mintedAfter(
  minutes: number,
  change: (treasury: TreasuryByHand) => void,
  run: Partial<ReserveReconciled> = {},
): Logs {
  const treasury = healthy();
  treasury.pay(0, 10n * USD);
  treasury.run(-2_030n * USD, run);
  treasury.pass(minutes);
  change(treasury);
  treasury.mint();
  return treasury.logs;
}

type Alone = readonly [invariant: Invariant, what: string, make: () => Logs];

const ALONE: readonly Alone[] = [
  [
    'I1',
    'a deposit that names another position of its transfer',
    () =>
      withLedger((event) =>
        event.type === 'DepositConfirmed' ? { ...event, transfer_offset: 77 } : event,
      ),
  ],
  [
    'I2',
    'a Mint of the authority that failed and was never requested',
    () =>
      withBlockMore({
        transactions: [{ from: AUTHORITY, to: named('x'), function_call_type: 'Mint' }],
      }),
  ],
  [
    'I2',
    'a Mint of the authority whose bytes say something else',
    () =>
      withBlock(healthy(), ({ transactions: [first, second] }) => ({
        transactions:
          first === undefined || second === undefined ? [] : [first, { ...second, raw: first.raw }],
      })),
  ],
  [
    'I3',
    'a Mint for another account than was requested, of an authority that the ledger does not name',
    () =>
      withBlock(
        worked(new TreasuryByHand()),
        ({ transactions, balance_effects: balanceEffects }) => ({
          transactions: transactions.map((each) => ({ ...each, to: named('x') })),
          balance_effects: balanceEffects.map((each) => ({ ...each, address: named('x') })),
        }),
      ),
  ],
  [
    'I4',
    'an intent for a deposit above the single cap that nobody approved',
    () =>
      withRecord((held) => ({
        type: 'MintIntended',
        ...OF,
        deposit_id: held,
        nonce: 9,
        to: named('x'),
        amount: 1_998n * USD,
        fee: 2n * USD,
        policy_version: 1,
        tx_hash: named('x', 32),
      })),
  ],
  ...[CUSTODY, depositKey().addressAt(0)].map((from): Alone => [
    'I4',
    `a mint of what ${from === CUSTODY ? 'custody' : 'a deposit address'} sent, that nobody approved`,
    () => {
      const { logs } = healthy();
      const transfers = logs.transfers.map((each) =>
        each.event.address_index === 1 ? { ...each, event: { ...each.event, from } } : each,
      );
      return { ...logs, transfers };
    },
  ]),
  [
    'I15',
    'a transfer of less than nothing',
    () => {
      const { logs } = healthy();
      const [first] = logs.transfers;
      if (first === undefined) throw new Error('there are transfers');
      const less = { ...first, event: { ...first.event, log_index: 77, value: -1n } };
      return { ...logs, transfers: [...logs.transfers, { ...less, offset: 99n }] };
    },
  ],
  [
    'I6',
    'a signed rejection of a credited deposit',
    () =>
      withRecord((_held, credited) =>
        signed(
          {
            type: 'DepositRejected',
            ...BY,
            sequence: healthy().logs.ledger.length,
            deposit_id: credited,
          },
          alice,
        ),
      ),
  ],
  [
    'I11',
    'supply that no transaction creates',
    () => withBlockMore({ effects: [{ address: named('x'), kind: 'mint', delta: 1n }] }),
  ],
  [
    'I11',
    'supply that a transfer creates',
    () =>
      withBlockMore({
        transactions: [{ from: named('x'), to: named('x') }],
        effects: [{ address: named('x'), kind: 'mint', delta: 1n, tx_index: 0 }],
      }),
  ],
  [
    'I11',
    'a transfer that gives more than it takes',
    () =>
      withBlockMore({
        transactions: [{ from: named('x'), to: named('y') }],
        effects: [
          { address: named('x'), kind: 'transfer_out', delta: -1n, tx_index: 0 },
          { address: named('y'), kind: 'transfer_in', delta: 2n, tx_index: 0 },
        ],
      }),
  ],
  [
    'I11',
    'an effect of an unknown kind that creates',
    () => withBlockMore({ effects: [{ address: named('x'), kind: 'gift', delta: 1n }] }),
  ],
  [
    'I11',
    'fees that are earned and were not paid',
    () => withBlockMore({ effects: [{ address: named('x'), kind: 'tx_fee_earned', delta: 1n }] }),
  ],
  [
    'I11',
    'a burn that creates',
    () => withBlockMore({ effects: [{ address: named('x'), kind: 'burn', delta: 1n }] }),
  ],
  [
    'I11',
    'a burn that no transaction says',
    () => withBlockMore({ effects: [{ address: named('x'), kind: 'burn', delta: -1n }] }),
  ],
  ['I13', 'a mint requested an hour after a mismatch', () => mintedAfter(60, () => undefined)],
  [
    'I13',
    'a mint dated back that a later run shows to be newer',
    () =>
      mintedAfter(60, (treasury) => {
        treasury.run(-2_030n * USD);
        treasury.pass(-60);
      }),
  ],
  ['I14', 'an approval without a signature', () => withRecord((held) => approval(held))],
  [
    'I14',
    'an approval signed by somebody who is no operator',
    () =>
      withRecord((held) =>
        signed({ ...approval(held), sequence: healthy().logs.ledger.length }, mallory),
      ),
  ],
];

function violatedBy(logs: Logs): readonly string[] {
  const { violated } = audited(logs).findings;
  return Object.entries(violated).flatMap(([name, count]) => (count > 0 ? [name] : []));
}

test('the correct logs violate nothing', () => {
  expect(audited(healthy().logs).findings.violations).toEqual([]);
});

test.each(ALONE)('%s alone fails by %s', (invariant, _what, make) => {
  expect(violatedBy(make())).toEqual([invariant]);
});

test('every other invariant is a comparison of its own, of tables or of runs', () => {
  // I5 follows from I15 and from the terms that the fold asks for
  const others: readonly string[] = ['I5', 'I7', 'I8', 'I12'];
  const alone: readonly string[] = ALONE.map(([invariant]) => invariant);
  expect(new Set([...alone, ...others])).toEqual(new Set(Object.keys(INVARIANTS)));
});

test('I12 alone fails by a run with any figure, block, offset or status that does not follow', () => {
  const figures = [
    'onchain_supply',
    'genesis_allocation',
    'treasury_minted',
    'burned',
    'ledger_liability',
    'held',
    'retained_fees',
    'minting',
    'waiting',
    'uncovered',
    'booked_surplus',
    'refunded',
  ] as const;
  const changes = [
    ...figures.map((name) => ({ [name]: 7n })),
    { block_height: 0 },
    { block_hash: named('x', 32) },
    { ledger_head: named('x', 32) },
    { ledger_offset: 3 },
    { ledger_offset: 1_000 },
    { status: 'over_backed_drift' },
    { status: 'fine' },
  ];
  for (const change of changes) {
    const treasury = healthy();
    treasury.run(0n, change);
    treasury.run();
    expect({ change, violated: violatedBy(treasury.logs) }).toEqual({ change, violated: ['I12'] });
  }
});

test('runs hold after the chain was written again with other records of what is final', () => {
  const { logs } = healthy();
  const blocks = logs.chain.filter(({ type }) => type === 'BlockAppended');
  const last = logs.chain.findLast(({ type }) => type === 'BlocksFinalized');
  const chain = [...blocks, ...(last === undefined ? [] : [last])].map((event, sequence) =>
    Object.assign({}, event, { sequence }),
  );
  expect(chain.length).toBeLessThan(logs.chain.length);
  expect(violatedBy({ ...logs, chain })).toEqual([]);
});

test('runs that name the hash of the run before them are read', () => {
  const treasury = healthy();
  const head = treasury.logs.runs.reduce(
    (before, _, at) => headAfter(before, hashOfValue(Buffer.from([at]))),
    NO_RECORDS,
  );
  treasury.run(0n, { sequence: treasury.logs.runs.length, previous: head });
  expect(violatedBy(treasury.logs)).toEqual([]);
});

test('a run that says ok where money is missing is a violation', () => {
  const treasury = healthy();
  treasury.run(-1_900n * USD, { status: 'ok', uncovered: 0n });
  expect(violatedBy(treasury.logs)).toEqual(['I12']);
});

test('a run of older code, which has no later fields, is no violation', () => {
  const older = { begun_at: 0, minting: 0n, waiting: 0n, uncovered: 0n };
  const treasury = new TreasuryByHand();
  treasury.pay(0, 10n * USD);
  treasury.run(0n, older);
  treasury.run(-8n * USD, older);
  expect(violatedBy(treasury.logs)).toEqual([]);
  treasury.run();
  treasury.run(0n, older);
  expect(violatedBy(treasury.logs)).toEqual([]);
  // a writer that knows of it must not leave out that deposits are not covered
  treasury.run(-8n * USD, older);
  expect(violatedBy(treasury.logs)).toEqual(['I12']);
});

test('a mint that was requested within ten minutes of a mismatch, or after the next run that allows it, is no violation', () => {
  expect(violatedBy(mintedAfter(10, () => undefined))).toEqual([]);
  expect(violatedBy(mintedAfter(60, (treasury) => treasury.run()))).toEqual([]);
});

test('a clock of the ledger ahead of that of the runs, as its records show, is no violation', () => {
  const run = { run_at: BEGIN - 40 * 60_000 };
  expect(violatedBy(mintedAfter(10, () => undefined, run))).toEqual([]);
  expect(violatedBy(mintedAfter(11, () => undefined, run))).toEqual(['I13']);
});

test('supply created from nothing in three ways is a violation in each block but the first', () => {
  const chain = new ChainByHand();
  const thief = named('thief');
  const mint = { address: thief, kind: 'mint', delta: 10n ** 12n };
  chain.append({ effects: [mint] });
  chain.append({ effects: [mint] });
  chain.append({
    transactions: [{ from: thief, to: thief }],
    effects: [{ ...mint, tx_index: 0 }],
  });
  chain.finalize();
  const { findings } = audited({ transfers: [], ledger: [], chain: chain.log, runs: [] });
  expect(findings.violations).toMatchObject([
    { invariant: 'I11', topic: 'chain.blocks', offset: 1n },
    { invariant: 'I11', topic: 'chain.blocks', offset: 2n },
  ]);
});
