import { expect, test } from 'vitest';
import { Ledger } from '../../../projections/deposits/domain/ledger.ts';
import {
  BELIEVED,
  ledgerPosition,
  positionOf,
  statusOf,
  sumsOf,
  surplusOf,
  type LedgerPosition,
  type Proofs,
} from '../../../projections/reserve/position.ts';
import { ChainSupply, type FinalSupply } from '../../../projections/reserve/supply.ts';
import type { HumanDecision } from '../../../schemas/operator-signature.ts';
import type { TreasuryEvent } from '../../../schemas/treasury.ledger/events.ts';
import { NETWORK_LIMITS } from '../../../schemas/deposit-policy.ts';
import { ChainByHand, named, type BlockByHand } from '../../support/chain-by-hand.ts';
import { alice, BY, operatorsSet, signed } from '../../support/operators.ts';
import { confirmedEvent, depositEvents, placed } from '../../support/deposit-events.ts';

const AUTHORITY = named('authority');
const OWNER = named('owner');
const USD = 1_000_000n;

const FINAL: FinalSupply = {
  height: 9,
  hash: Buffer.alloc(32, 9),
  timestamp: 1,
  genesis_allocation: 1_000n * USD,
  supply: 1_000n * USD,
  burned: 0n,
};
const NOTHING: LedgerPosition = {
  ledger_offset: 0n,
  treasury_minted: 0n,
  held: 0n,
  minting: 0n,
  waiting: 0n,
  unproven: 0n,
  unminted: 0n,
  retained_fees: 0n,
  booked_surplus: 0n,
  refunded: 0n,
  unproven_refunds: 0n,
};

interface Case {
  readonly what: string;
  readonly ledger?: Partial<LedgerPosition>;
  readonly final?: Partial<FinalSupply>;
  readonly custody: bigint;
  /** by default nothing */
  readonly frozen?: bigint;
  readonly status: 'ok' | 'mismatch' | 'over_backed_drift';
  readonly surplus: bigint;
  /** by default nothing */
  readonly uncovered?: bigint;
}

/** 100 minted, 20 held (5 in flight, 12 waiting, 3 rejected), 4 of fees. */
const BUSY = {
  treasury_minted: 100n * USD,
  held: 20n * USD,
  minting: 5n * USD,
  waiting: 12n * USD,
  retained_fees: 4n * USD,
};

const CASES: readonly Case[] = [
  { what: 'nothing has happened', custody: 0n, status: 'ok', surplus: 0n },
  {
    what: 'all that came is there',
    ledger: BUSY,
    final: { supply: 1_100n * USD },
    custody: 124n * USD,
    status: 'ok',
    surplus: 0n,
  },
  {
    what: 'fees were spent',
    ledger: BUSY,
    final: { supply: 1_100n * USD },
    custody: 120n * USD,
    status: 'ok',
    surplus: -4n * USD,
  },
  {
    what: 'all but the fees and a rejected deposit is left',
    ledger: BUSY,
    final: { supply: 1_100n * USD },
    custody: 117n * USD,
    status: 'ok',
    surplus: -7n * USD,
  },
  {
    what: 'one unit of a waiting deposit is gone',
    ledger: BUSY,
    final: { supply: 1_100n * USD },
    custody: 117n * USD - 1n,
    status: 'ok',
    surplus: -7n * USD - 1n,
    uncovered: 1n,
  },
  {
    what: 'as much is frozen as fees and a rejected deposit make',
    ledger: BUSY,
    final: { supply: 1_100n * USD },
    custody: 124n * USD,
    frozen: 7n * USD,
    status: 'ok',
    surplus: 0n,
  },
  {
    what: 'one unit more is frozen',
    ledger: BUSY,
    final: { supply: 1_100n * USD },
    custody: 124n * USD,
    frozen: 7n * USD + 1n,
    status: 'ok',
    surplus: 0n,
    uncovered: 1n,
  },
  {
    what: 'a surplus is booked',
    ledger: { ...BUSY, booked_surplus: 50n * USD },
    final: { supply: 1_100n * USD },
    custody: 174n * USD,
    status: 'ok',
    surplus: 0n,
  },
  {
    what: 'a rejected deposit is paid back',
    ledger: { ...BUSY, refunded: 3n * USD },
    final: { supply: 1_100n * USD },
    custody: 121n * USD,
    status: 'ok',
    surplus: 0n,
  },
  {
    what: 'just what is owed is left',
    ledger: BUSY,
    final: { supply: 1_100n * USD },
    custody: 100n * USD,
    status: 'ok',
    surplus: -24n * USD,
    uncovered: 17n * USD,
  },
  {
    what: 'one unit less than owed is left',
    ledger: BUSY,
    final: { supply: 1_100n * USD },
    custody: 100n * USD - 1n,
    status: 'mismatch',
    surplus: -24n * USD - 1n,
    uncovered: 17n * USD + 1n,
  },
  {
    what: 'one unit more exists than is explained, and custody has it',
    ledger: BUSY,
    final: { supply: 1_100n * USD + 1n },
    custody: 124n * USD + 1n,
    status: 'mismatch',
    surplus: 1n,
  },
  {
    what: 'one unit less exists than is explained',
    ledger: BUSY,
    final: { supply: 1_100n * USD - 1n },
    custody: 124n * USD,
    status: 'mismatch',
    surplus: 0n,
  },
  {
    what: 'the surplus is as large as tolerated',
    ledger: BUSY,
    final: { supply: 1_100n * USD },
    custody: 124n * USD + 10n,
    status: 'ok',
    surplus: 10n,
  },
  {
    what: 'the surplus is larger than tolerated',
    ledger: BUSY,
    final: { supply: 1_100n * USD },
    custody: 124n * USD + 11n,
    status: 'over_backed_drift',
    surplus: 11n,
  },
  {
    what: 'burned and paid out',
    ledger: BUSY,
    final: { supply: 1_070n * USD, burned: 30n * USD },
    custody: 94n * USD,
    status: 'ok',
    surplus: 0n,
  },
  {
    what: 'burned and not paid out yet',
    ledger: BUSY,
    final: { supply: 1_070n * USD, burned: 30n * USD },
    custody: 124n * USD,
    status: 'over_backed_drift',
    surplus: 30n * USD,
  },
  {
    what: 'paid out and not burned yet',
    ledger: BUSY,
    final: { supply: 1_100n * USD },
    custody: 94n * USD,
    status: 'mismatch',
    surplus: -30n * USD,
    uncovered: 23n * USD,
  },
  {
    what: 'more was burned than ever minted, of what was there at the beginning',
    final: { supply: 999n * USD, burned: USD },
    custody: 0n,
    status: 'over_backed_drift',
    surplus: USD,
  },
  {
    what: 'a mint hides a burn of as much',
    final: { burned: USD },
    custody: 0n,
    status: 'mismatch',
    surplus: USD,
  },
  {
    what: 'amounts beyond 2^64',
    ledger: { treasury_minted: 2n ** 100n },
    final: { genesis_allocation: 2n ** 90n, supply: 2n ** 90n + 2n ** 100n },
    custody: 2n ** 100n - 1n,
    status: 'mismatch',
    surplus: -1n,
    uncovered: 1n,
  },
];

test.each(CASES)(
  '$what: $status',
  ({ ledger, final, custody, frozen, status, surplus, uncovered = 0n }) => {
    const position = positionOf({ ...NOTHING, ...ledger }, { ...FINAL, ...final }, custody, frozen);
    expect([statusOf(position, 10n), surplusOf(position)]).toEqual([status, surplus]);
    expect(position.uncovered).toBe(uncovered);
  },
);

const FIRST = confirmedEvent({ tx_id: Buffer.alloc(32, 1), clt_address: OWNER });
const SECOND = confirmedEvent({
  tx_id: Buffer.alloc(32, 2),
  clt_address: OWNER,
  gross: 1_000_000n,
  fee: 500_000n,
  credit: 500_000n,
  address_ordinal: 1,
});
/** Less than its fee: it credits nothing, and what arrived is kept. */
const SHORT = confirmedEvent({
  tx_id: Buffer.alloc(32, 3),
  clt_address: OWNER,
  gross: 400_000n,
  fee: 500_000n,
  credit: 0n,
  address_ordinal: 2,
});
const INTENDED = depositEvents(FIRST.deposit_id).intended({
  to: OWNER,
  amount: FIRST.credit,
  nonce: 0,
  tx_hash: named('mint', 32),
});

function ledgerOf(...events: readonly TreasuryEvent[]): Ledger {
  const ledger = new Ledger();
  const policy = {
    type: 'PolicySet',
    sequence: 0,
    version: 1,
    network: 'testnet',
    ...NETWORK_LIMITS.testnet,
    decided_at: 1,
  } as const;
  for (const event of placed([policy, ...events])) ledger.apply(event, BigInt(event.sequence));
  return ledger;
}

/** A chain whose first block gives out 1,000 USD, then these, all final. */
function chainOf(...blocks: readonly BlockByHand[]): {
  readonly supply: ChainSupply;
  readonly final: FinalSupply;
} {
  const chain = new ChainByHand();
  chain.append({ effects: [{ address: AUTHORITY, kind: 'mint', delta: 1_000n * USD }] });
  for (const block of blocks) chain.append(block);
  chain.finalize();
  const supply = new ChainSupply();
  for (const event of chain.log)
    expect(supply.apply(event, BigInt(event.sequence))).toBe('applied');
  const { final } = supply;
  if (final === undefined) throw new Error('nothing is final');
  return { supply, final };
}

function minting(amount: bigint, to = OWNER, hash = INTENDED.tx_hash): BlockByHand {
  return {
    transactions: [{ from: AUTHORITY, to, hash, function_call_type: 'Mint', amount }],
    effects: [{ address: to, kind: 'mint', delta: amount, tx_index: 0, counterparty: AUTHORITY }],
  };
}

test('a mint counts once its block is final, before the ledger says credited', () => {
  const { supply, final } = chainOf(minting(FIRST.credit));
  const intended = ledgerPosition(ledgerOf(FIRST, SECOND, SHORT, INTENDED), supply, final);
  expect(intended).toEqual({
    ...NOTHING,
    ledger_offset: 5n,
    treasury_minted: FIRST.credit,
    held: SECOND.credit,
    waiting: SECOND.credit,
    retained_fees: 2n * USD + 500_000n + 400_000n,
  });
  const credited = ledgerOf(
    FIRST,
    SECOND,
    SHORT,
    INTENDED,
    depositEvents(FIRST.deposit_id).credited(INTENDED.tx_hash),
  );
  expect(ledgerPosition(credited, supply, final)).toEqual({ ...intended, ledger_offset: 6n });
});

test('a mint in a later block is held in the position of an earlier one', () => {
  const { supply, final } = chainOf({}, minting(FIRST.credit));
  const ledger = ledgerOf(
    FIRST,
    INTENDED,
    depositEvents(FIRST.deposit_id).credited(INTENDED.tx_hash),
  );
  const earlier = { ...final, height: 1 };
  expect(ledgerPosition(ledger, supply, earlier)).toMatchObject({
    treasury_minted: 0n,
    held: FIRST.credit,
    minting: FIRST.credit,
    waiting: 0n,
  });
  expect(ledgerPosition(ledger, supply, final)).toMatchObject({
    treasury_minted: FIRST.credit,
    held: 0n,
    minting: 0n,
  });
});

test.each([
  ['nobody intended', ledgerOf(FIRST), minting(FIRST.credit)],
  [
    'has another hash than intended',
    ledgerOf(FIRST, INTENDED),
    minting(FIRST.credit, OWNER, named('other', 32)),
  ],
  ['is of more than intended', ledgerOf(FIRST, INTENDED), minting(FIRST.credit + 1n)],
  ['goes to somebody else', ledgerOf(FIRST, INTENDED), minting(FIRST.credit, named('thief'))],
])('a mint that %s is not explained', (_what, ledger, block) => {
  const { supply, final } = chainOf(block);
  const position = positionOf(ledgerPosition(ledger, supply, final), final, 10n * USD);
  expect(position.treasury_minted).toBe(0n);
  expect(statusOf(position, 0n)).toBe('mismatch');
});

test('a credit that no final block has minted is still being minted', () => {
  const { supply, final } = chainOf();
  const credited = depositEvents(FIRST.deposit_id).credited(INTENDED.tx_hash);
  expect(ledgerPosition(ledgerOf(FIRST, INTENDED, credited), supply, final)).toMatchObject({
    treasury_minted: 0n,
    held: FIRST.credit,
    minting: FIRST.credit,
    unminted: FIRST.credit,
  });
});

/** The position of whoever has these proofs. */
function provenPosition(ledger: Ledger, proofs: Partial<Proofs>): LedgerPosition {
  const { supply, final } = chainOf();
  const sums = sumsOf(ledger, supply, final.height, { ...BELIEVED, ...proofs });
  return ledgerPosition(ledger, supply, final, sums);
}

test('a deposit that nobody has shown to have arrived is held, and does not wait', () => {
  const isProven = (id: string): boolean => id === SECOND.deposit_id;
  expect(provenPosition(ledgerOf(FIRST, SECOND), { isProven })).toMatchObject({
    held: FIRST.credit + SECOND.credit,
    unproven: FIRST.credit,
    waiting: SECOND.credit,
  });
});

test('a refund counts once TRON shows it', () => {
  const events = depositEvents(SECOND.deposit_id);
  const ledger = ledgerOf(FIRST, SECOND, events.held('below_minimum'), events.rejected());
  for (const event of [
    operatorsSet(alice),
    signed({ ...events.refunded(USD), sequence: 6 }, alice),
  ])
    ledger.apply({ ...event, sequence: Number(ledger.end) }, ledger.end);
  const shown = { refunded: USD, unproven_refunds: 0n };
  expect(provenPosition(ledger, {})).toMatchObject(shown);
  expect(provenPosition(ledger, { isPaidBack: () => false })).toMatchObject({
    refunded: 0n,
    unproven_refunds: USD,
  });
});

test('a hold as internal counts unless its transfer is known to come from elsewhere', () => {
  const hold = (reason: string): Ledger =>
    ledgerOf(FIRST, SECOND, depositEvents(SECOND.deposit_id).held(reason));
  const counted = { held: FIRST.credit + SECOND.credit };
  const left = { held: FIRST.credit };
  expect(provenPosition(hold('internal_transfer'), {})).toMatchObject(left);
  expect(provenPosition(hold('internal_transfer'), { isInternal: () => false })).toMatchObject(
    counted,
  );
  expect(provenPosition(hold('internal_transfer'), { isInternal: () => true })).toMatchObject(left);
  expect(provenPosition(hold('below_minimum'), { isInternal: () => true })).toMatchObject(counted);
});

test('an intended transaction without effect is no mint', () => {
  const { supply, final } = chainOf({ ...minting(FIRST.credit), effects: [] });
  expect(ledgerPosition(ledgerOf(FIRST, INTENDED), supply, final)).toMatchObject({
    treasury_minted: 0n,
    held: FIRST.credit,
  });
});

test('a released mint that is carried out is unexplained until it is acknowledged, and pays its deposit then', () => {
  const { supply, final } = chainOf(minting(FIRST.credit));
  const events = depositEvents(FIRST.deposit_id);
  const ledger = ledgerOf(FIRST, INTENDED, events.rejected());
  const tell = (event: HumanDecision): void => {
    ledger.apply(signed({ ...event, sequence: Number(ledger.end) }, alice), ledger.end);
  };
  const before = positionOf(ledgerPosition(ledger, supply, final), final, FIRST.gross);
  expect(before).toMatchObject({ treasury_minted: 0n, held: FIRST.credit, waiting: 0n });
  expect(statusOf(before, 0n)).toBe('mismatch');
  const { tx_hash } = INTENDED;
  const acknowledged = { tx_hash, to: OWNER, amount: FIRST.credit, block_height: 1 };
  tell(operatorsSet(alice));
  tell({ type: 'MintAcknowledged', ...BY, ...acknowledged });
  const position = positionOf(ledgerPosition(ledger, supply, final), final, FIRST.gross);
  expect(position).toMatchObject({ treasury_minted: FIRST.credit, held: 0n, waiting: 0n });
  expect([statusOf(position, 0n), surplusOf(position)]).toEqual(['ok', 0n]);
  // paid twice: by the Mint, and by hand
  tell(events.refunded(FIRST.credit));
  const twice = ledgerPosition(ledger, supply, final);
  const left = positionOf(twice, final, FIRST.gross - FIRST.credit);
  expect([statusOf(left, 0n), surplusOf(left)]).toEqual(['mismatch', 0n]);
});

test('on a chain that had minted, the position begins with the supply and liability of the baseline', () => {
  const chain = new ChainByHand();
  chain.append({ effects: [{ address: OWNER, kind: 'genesis', delta: 1_000n }] });
  const mint = { from: AUTHORITY, to: OWNER, function_call_type: 'Mint', amount: 50n };
  const minted = { address: OWNER, kind: 'mint', delta: 50n, tx_index: 0 };
  const burned = { address: OWNER, kind: 'burn', delta: -20n };
  chain.append({ transactions: [mint], effects: [minted, burned] });
  chain.append({ transactions: [{ ...mint, amount: 7n }], effects: [{ ...minted, delta: 7n }] });
  chain.append({ effects: [{ ...burned, delta: -3n }] });
  chain.finalize();
  const supply = new ChainSupply();
  for (const [offset, event] of chain.log.entries()) supply.apply(event, BigInt(offset));
  const { final } = supply;
  if (final === undefined) throw new Error('nothing is final');
  const ledger = new Ledger();
  const tell = (...events: readonly HumanDecision[]): void => {
    for (const event of events)
      ledger.apply(signed({ ...event, sequence: Number(ledger.end) }, alice), ledger.end);
  };
  const pinned = { block_height: 1, block_hash: Buffer.alloc(32), supply: 1_030n, liability: 30n };
  tell(operatorsSet(alice), { type: 'BaselinePinned', ...BY, ...pinned });
  const before = positionOf(ledgerPosition(ledger, supply, final), final, 34n);
  expect(before).toMatchObject({
    onchain_supply: 1_034n,
    genesis_allocation: 1_000n,
    treasury_minted: 30n,
    burned: 3n,
    ledger_liability: 27n,
  });
  expect(statusOf(before, 0n)).toBe('mismatch');
  const [foreign] = chain.log.flatMap((event) =>
    event.type === 'BlockAppended' && event.height === 2 ? event.transactions : [],
  );
  if (foreign === undefined) throw new Error('there is no Mint after the baseline');
  const { hash: tx_hash, to, amount } = foreign;
  tell({ type: 'MintAcknowledged', ...BY, tx_hash, to, amount, block_height: 2 });
  const position = positionOf(ledgerPosition(ledger, supply, final), final, 34n);
  expect(position).toMatchObject({ treasury_minted: 37n, ledger_liability: 34n, uncovered: 0n });
  expect(statusOf(position, 0n)).toBe('ok');
  expect(statusOf({ ...position, custody_reported: 33n }, 0n)).toBe('mismatch');
});
