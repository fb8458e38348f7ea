import { expect, test } from 'vitest';
import {
  ABSENT,
  evolve,
  phase,
  type Deposit,
  type Phase,
  type Terms,
} from '../../../../projections/deposits/domain/deposit.ts';
import { NETWORK_LIMITS } from '../../../../schemas/deposit-policy.ts';
import type { DepositEvent } from '../../../../schemas/treasury.ledger/events.ts';
import { confirmedEvent, depositEvents } from '../../../support/deposit-events.ts';

const { testnet: limits } = NETWORK_LIMITS;
const OWNER = Buffer.alloc(20, 1);
const OURS = Buffer.alloc(32, 0xa);
const OTHER = Buffer.alloc(32, 0xb);

const TERMS: Terms = {
  clt_address: OWNER,
  gross: 10_000_000n,
  fee: 2_000_000n,
  credit: 8_000_000n,
  policy_version: 1,
};
const NOTHING: Terms = { ...TERMS, gross: 1_000_000n, credit: 0n };
const MINT = { sequence: 0, nonce: 7, tx_hash: OURS };

const UNDECIDED = { rejected: false, approved_by: [], refunded: 0n } as const;

const STATES = {
  absent: ABSENT,
  confirmed: { status: 'confirmed', terms: TERMS, approved: false },
  approved: { status: 'confirmed', terms: TERMS, approved: true },
  held: { status: 'needs_manual', terms: TERMS, reason: 'over_single_cap', ...UNDECIDED },
  failed: { status: 'needs_manual', terms: TERMS, reason: 'mint_failed', ...UNDECIDED },
  'held with nothing to mint': {
    status: 'needs_manual',
    terms: NOTHING,
    reason: 'below_minimum',
    ...UNDECIDED,
  },
  rejected: {
    status: 'needs_manual',
    terms: TERMS,
    reason: 'over_single_cap',
    ...UNDECIDED,
    rejected: true,
  },
  minting: { status: 'mint_requested', terms: TERMS, approved: false, mint: MINT },
  'minting, approved': { status: 'mint_requested', terms: TERMS, approved: true, mint: MINT },
  credited: { status: 'credited', terms: TERMS, mint: MINT },
} as const satisfies Record<string, Deposit>;

const { held, approved, rejected, intended, credited, dead, voided, refunded } = depositEvents(
  '6db65fd5-9fd3-86f6-b291-40571b5bcd6b',
);

const EVENTS = {
  DepositConfirmed: confirmedEvent({
    clt_address: OWNER,
    gross: 10_000_000n,
    fee: 2_000_000n,
    credit: 8_000_000n,
  }),
  'DepositHeld: below_minimum': held('below_minimum'),
  'DepositHeld: over_single_cap': held('over_single_cap'),
  'DepositHeld: unproven': held('unproven'),
  'DepositHeld: mint_failed': held('mint_failed'),
  DepositApproved: approved(),
  DepositRejected: rejected(),
  MintIntended: intended({ to: OWNER, amount: 8_000_000n, nonce: 7, tx_hash: OURS }),
  'MintIntended to somebody else': intended({
    to: Buffer.alloc(20, 2),
    amount: 8_000_000n,
    nonce: 7,
    tx_hash: OURS,
  }),
  'MintIntended of another amount': intended({
    to: OWNER,
    amount: 8_000_001n,
    nonce: 7,
    tx_hash: OURS,
  }),
  'MintIntended of nothing': intended({ to: OWNER, amount: 0n, nonce: 7, tx_hash: OURS }),
  MintCredited: credited(OURS),
  'MintCredited of another transaction': credited(OTHER),
  MintDead: dead(OURS, 7),
  'MintDead of another transaction': dead(OTHER, 7),
  MintVoided: voided(OURS, 7),
  'MintVoided of another transaction': voided(OTHER, 7),
  RefundRecorded: refunded(10_000_000n),
  'RefundRecorded of more than came': refunded(10_000_001n),
} as const satisfies Record<string, DepositEvent>;

/** Outcomes in addition to the states above. */
const OUTCOMES = {
  ...STATES,
  'held below': { status: 'needs_manual', terms: TERMS, reason: 'below_minimum', ...UNDECIDED },
  unproven: { status: 'needs_manual', terms: TERMS, reason: 'unproven', ...UNDECIDED },
  'failed, rejected': { ...STATES.failed, rejected: true },
  'paid back': { ...STATES.rejected, refunded: 10_000_000n },
  'nothing, rejected': { ...STATES['held with nothing to mint'], rejected: true },
} as const satisfies Record<string, Deposit>;

type State = keyof typeof STATES;
type Happening = keyof typeof EVENTS;
/** the state afterwards; '-': the event does not fit and changes nothing */
type Cell = keyof typeof OUTCOMES | '-';
/** one cell a state, in the order of STATES: none may be missing */
type Line = readonly [Cell, Cell, Cell, Cell, Cell, Cell, Cell, Cell, Cell, Cell];

const ORDER: readonly State[] = [
  'absent',
  'confirmed',
  'approved',
  'held',
  'failed',
  'held with nothing to mint',
  'rejected',
  'minting',
  'minting, approved',
  'credited',
];

const NEVER: Line = ['-', '-', '-', '-', '-', '-', '-', '-', '-', '-'];

const TABLE: Record<Happening, Line> = {
  DepositConfirmed: /*                */ ['confirmed', '-', '-', '-', '-', '-', '-', '-', '-', '-'],
  'DepositHeld: below_minimum': /*    */ [
    '-',
    'held below',
    '-',
    '-',
    '-',
    '-',
    '-',
    '-',
    '-',
    '-',
  ],
  'DepositHeld: over_single_cap': /*  */ ['-', 'held', '-', '-', '-', '-', '-', '-', '-', '-'],
  'DepositHeld: unproven': /*         */ [
    '-',
    'unproven',
    'unproven',
    '-',
    '-',
    '-',
    '-',
    '-',
    '-',
    '-',
  ],
  'DepositHeld: mint_failed': /*      */ [
    '-',
    '-',
    '-',
    '-',
    '-',
    '-',
    '-',
    'failed',
    'failed',
    '-',
  ],
  DepositApproved: /*                 */ [
    '-',
    '-',
    '-',
    'approved',
    'approved',
    '-',
    '-',
    '-',
    '-',
    '-',
  ],
  DepositRejected: /*                 */ [
    '-',
    '-',
    '-',
    'rejected',
    'failed, rejected',
    'nothing, rejected',
    '-',
    'failed, rejected',
    'failed, rejected',
    '-',
  ],
  MintIntended: /*                    */ [
    '-',
    'minting',
    'minting, approved',
    '-',
    '-',
    '-',
    '-',
    '-',
    '-',
    '-',
  ],
  'MintIntended to somebody else': NEVER,
  'MintIntended of another amount': NEVER,
  'MintIntended of nothing': NEVER,
  MintCredited: /*                    */ [
    '-',
    '-',
    '-',
    '-',
    '-',
    '-',
    '-',
    'credited',
    'credited',
    '-',
  ],
  'MintCredited of another transaction': NEVER,
  MintDead: /*                        */ [
    '-',
    '-',
    '-',
    '-',
    '-',
    '-',
    '-',
    'confirmed',
    'approved',
    '-',
  ],
  'MintDead of another transaction': NEVER,
  MintVoided: /*                      */ [
    '-',
    '-',
    '-',
    '-',
    '-',
    '-',
    '-',
    'confirmed',
    'approved',
    'confirmed',
  ],
  'MintVoided of another transaction': NEVER,
  RefundRecorded: /*                  */ ['-', '-', '-', '-', '-', '-', 'paid back', '-', '-', '-'],
  'RefundRecorded of more than came': NEVER,
};

const CELLS = keysOf(TABLE).flatMap((happening) =>
  TABLE[happening].map((cell, at) => ({ state: ORDER[at] ?? 'absent', happening, cell })),
);

function keysOf<Key extends string>(table: Readonly<Record<Key, unknown>>): Key[] {
  return Object.keys(table).filter((key): key is Key => key in table);
}

test.each(CELLS)('$state: $happening', ({ state, happening, cell }) => {
  const before: Deposit = STATES[state];
  const after = evolve(before, EVENTS[happening]);
  if (cell === '-') expect(after).toBe(before);
  else expect(after).toEqual(OUTCOMES[cell]);
});

test('the table has every state and every type of event', () => {
  expect(ORDER).toEqual(Object.keys(STATES));
  const types: Record<DepositEvent['type'], true> = {
    DepositConfirmed: true,
    DepositHeld: true,
    DepositApproved: true,
    DepositRejected: true,
    MintIntended: true,
    MintCredited: true,
    MintDead: true,
    MintVoided: true,
    RefundRecorded: true,
  };
  expect(new Set(Object.values(EVENTS).map(({ type }) => type))).toEqual(
    new Set(Object.keys(types)),
  );
});

const PHASES: Record<State, readonly [within: Phase, beyond: Phase]> = {
  absent: ['decide', 'decide'],
  confirmed: ['mint', 'await_cap'],
  approved: ['mint', 'await_cap'],
  held: ['await_human', 'await_human'],
  failed: ['await_human', 'await_human'],
  'held with nothing to mint': ['await_human', 'await_human'],
  rejected: ['nothing', 'nothing'],
  minting: ['watch_mint', 'watch_mint'],
  'minting, approved': ['watch_mint', 'watch_mint'],
  credited: ['nothing', 'nothing'],
};

test.each(keysOf(PHASES).map((state) => ({ state, cell: PHASES[state] })))(
  'the next step of a deposit that is $state',
  ({ state, cell }) => {
    const [within, beyond] = cell;
    expect(phase(STATES[state], { limits, cap_left: 8_000_000n })).toBe(within);
    expect(phase(STATES[state], { limits, cap_left: 7_999_999n })).toBe(beyond);
  },
);

test.each([
  ['below the minimum', 999_999n, 'decide', 'mint'],
  ['just the minimum', 1_000_000n, 'mint', 'mint'],
  ['just the cap of a single one', 1_000_000_000n, 'mint', 'mint'],
  ['above the cap of a single one', 1_000_000_001n, 'decide', 'mint'],
] as const)(
  'a credit %s is minted automatically or needs an approval',
  (_what, credit, alone, withApproval) => {
    const terms = { ...TERMS, credit };
    const room = { limits, cap_left: 5_000_000_000n };
    expect(phase({ status: 'confirmed', terms, approved: false }, room)).toBe(alone);
    expect(phase({ status: 'confirmed', terms, approved: true }, room)).toBe(withApproval);
  },
);
