import { expect, test } from 'vitest';
import { approve, reject, release } from '../../../../projections/deposits/domain/approval.ts';
import {
  conclude,
  dueMints,
  intend,
  mintCallOf,
  type FinalTransaction,
} from '../../../../projections/deposits/domain/minting.ts';
import {
  BEGIN,
  DAY_MS,
  hashOf,
  HOUR_MS,
  MintLedger,
  NOBODY,
  USD,
} from '../../../support/mint-ledger.ts';

const OWNER = Buffer.alloc(20, 0xc1);
const INTENDING = { now: BEGIN, final_nonce: 0, hashOf: hashOf, most: 100 };
const CONCLUDING = { now: BEGIN, most: 100 };
const PERSON = { actor: 'alice', reason: 'known to us', now: BEGIN };

function opened(rollingUsd = 5_000n): MintLedger {
  const made = new MintLedger();
  made.setPolicy({ rolling_cap: rollingUsd * USD });
  return made;
}

function due(made: MintLedger, now = BEGIN): readonly string[] {
  return dueMints(made.ledger, { ...INTENDING, now, final_nonce: 100 }).map(
    ({ deposit_id: depositId }) => depositId,
  );
}

function mintDue(made: MintLedger, now = BEGIN): void {
  made.writeAll(intend(made.ledger, { ...INTENDING, now }).events);
}

/** The chain as it stands when every mint under way is final, with what `change` says of it. */
function finalOf(
  made: MintLedger,
  change: Partial<FinalTransaction> = {},
): (nonce: number) => FinalTransaction | undefined {
  return (nonce) => {
    const mint = made.ledger.live.get(nonce);
    if (mint === undefined) return undefined;
    const { tx_hash, to, amount } = mint;
    return {
      tx_hash,
      block_height: 9,
      block_hash: Buffer.alloc(32, 9),
      minted: { to, amount },
      ...change,
    };
  };
}

test('waiting deposits get mint intents in ledger order, to their owners, each with its own nonce', () => {
  const made = opened();
  const [one, held, other] = [
    made.deposit(8n * USD),
    made.deposit(USD / 2n),
    made.deposit(9_500_000n),
  ];
  const { events } = intend(made.ledger, { ...INTENDING, now: BEGIN + 5, final_nonce: 7 });
  const of = { type: 'MintIntended', to: OWNER, policy_version: 1, decided_at: BEGIN + 5 };
  expect(events).toEqual([
    {
      ...of,
      sequence: 5,
      deposit_id: one,
      nonce: 7,
      amount: 8n * USD,
      fee: 2n * USD,
      tx_hash: hashOf(mintCallOf({ deposit_id: one, nonce: 7, to: OWNER, amount: 8n * USD })),
    },
    {
      ...of,
      sequence: 6,
      deposit_id: other,
      nonce: 8,
      amount: 9_500_000n,
      fee: USD / 2n,
      tx_hash: hashOf(mintCallOf({ deposit_id: other, nonce: 8, to: OWNER, amount: 9_500_000n })),
    },
  ]);
  made.writeAll(events);
  expect(made.state(held)).toMatchObject({ status: 'needs_manual' });
  expect(intend(made.ledger, INTENDING).events).toEqual([]);
});

test("the next nonce is above the last intent's and not below the chain's, and a dead mint is intended again", () => {
  const made = opened();
  const id = made.deposit(8n * USD);
  mintDue(made);
  const other = { tx_hash: Buffer.alloc(32, 0xdd), minted: undefined };
  const { events } = conclude(made.ledger, finalOf(made, other), CONCLUDING);
  expect(events).toMatchObject([
    { type: 'MintDead', deposit_id: id, nonce: 0, other_tx_hash: other.tx_hash, block_height: 9 },
  ]);
  made.writeAll(events);
  // a nonce that no final block has used may still be minted, also one that the ledger gave up
  const next = made.deposit(3n * USD);
  expect(intend(made.ledger, { ...INTENDING, final_nonce: 0 }).events).toMatchObject([
    { deposit_id: next, nonce: 1 },
  ]);
  expect(intend(made.ledger, { ...INTENDING, final_nonce: 1, most: 1 }).events).toMatchObject([
    { deposit_id: id, nonce: 1 },
  ]);
  expect(intend(made.ledger, { ...INTENDING, final_nonce: 5, most: 1 }).events).toMatchObject([
    { deposit_id: id, nonce: 5 },
  ]);
});

test('a mint in a final block is credited; one without effect, of another amount or account is held', () => {
  for (const minted of [
    undefined,
    { to: OWNER, amount: 8n * USD - 1n },
    { to: Buffer.alloc(20, 2), amount: 8n * USD },
  ]) {
    const made = opened();
    const id = made.deposit(8n * USD);
    mintDue(made);
    made.writeAll(conclude(made.ledger, finalOf(made, { minted }), CONCLUDING).events);
    expect(made.state(id)).toMatchObject({ status: 'needs_manual', reason: 'mint_failed' });
  }
  const made = opened();
  const id = made.deposit(8n * USD);
  mintDue(made);
  expect(conclude(made.ledger, () => undefined, CONCLUDING).events).toEqual([]);
  made.writeAll(conclude(made.ledger, finalOf(made), CONCLUDING).events);
  expect(made.state(id)).toMatchObject({ status: 'credited' });
  expect(made.ledger.sums.minted).toBe(8n * USD);
  expect(conclude(made.ledger, finalOf(made), CONCLUDING).events).toEqual([]);
});

test('above the rolling cap a deposit waits, lets smaller ones pass for a day, and then goes first', () => {
  const made = opened(1_000n);
  const first = made.deposit(700n * USD);
  mintDue(made);
  const large = made.deposit(500n * USD, BEGIN + HOUR_MS);
  const small = made.deposit(100n * USD, BEGIN + 2 * HOUR_MS);
  expect(made.state(large)).toMatchObject({ status: 'confirmed' });
  expect(due(made, BEGIN + 3 * HOUR_MS)).toEqual([small]);
  mintDue(made, BEGIN + 23 * HOUR_MS);
  const later = made.deposit(100n * USD, BEGIN + 23 * HOUR_MS);
  // the first has left the window: there is room, in order
  expect(due(made, BEGIN + DAY_MS - 1)).toEqual([later]);
  expect(due(made, BEGIN + DAY_MS)).toEqual([large, later]);
  expect(made.state(first)).toMatchObject({ status: 'mint_requested' });
});

test('a deposit that has waited a day is not passed any more', () => {
  const made = opened(1_000n);
  const [fills, large] = [made.deposit(600n * USD), made.deposit(500n * USD)];
  mintDue(made, BEGIN + 10 * HOUR_MS);
  expect(made.state(fills)).toMatchObject({ status: 'mint_requested' });
  const small = made.deposit(100n * USD, BEGIN + 11 * HOUR_MS);
  expect(due(made, BEGIN + DAY_MS - 1)).toEqual([small]);
  expect(due(made, BEGIN + DAY_MS)).toEqual([]);
  expect(due(made, BEGIN + 34 * HOUR_MS - 1)).toEqual([]);
  expect(due(made, BEGIN + 34 * HOUR_MS)).toEqual([large, small]);
});

test('a deposit above the rolling cap itself delays nobody and is minted under a larger cap', () => {
  const made = opened(2_000n);
  const id = made.deposit(1_500n * USD);
  made.writeAll(eventsOf(approve(made.ledger, { deposit_id: id, ...PERSON })));
  made.setPolicy({ rolling_cap: 1_000n * USD });
  const small = made.deposit(900n * USD, BEGIN + 1);
  expect(due(made, BEGIN + 5 * DAY_MS)).toEqual([small]);
  made.setPolicy({ rolling_cap: 2_400n * USD });
  expect(due(made, BEGIN + 5 * DAY_MS)).toEqual([id, small]);
});

test('behind an intent of a clock years ahead the cap limits all later ones together, and a larger cap lets minting go on', () => {
  const made = opened(100n);
  made.deposit(60n * USD);
  mintDue(made, BEGIN + 3_650 * DAY_MS);
  const next = made.deposit(60n * USD);
  for (const days of [2, 365, 3_650]) expect(due(made, BEGIN + days * DAY_MS)).toEqual([]);
  made.setPolicy({ rolling_cap: 120n * USD });
  expect(due(made, BEGIN + 2 * DAY_MS)).toEqual([next]);
});

test('a batch holds at most the given number, and nothing without a policy', () => {
  const made = opened();
  for (let at = 0; at < 5; at++) made.deposit(8n * USD);
  expect(intend(made.ledger, { ...INTENDING, most: 3 }).events.map(({ nonce }) => nonce)).toEqual([
    0, 1, 2,
  ]);
  expect(dueMints(new MintLedger().ledger, INTENDING)).toEqual([]);
});

function eventsOf<Event>(
  decision: { readonly events: readonly Event[] } | { readonly refused: string },
): readonly Event[] {
  if ('refused' in decision) throw new Error(decision.refused);
  return decision.events;
}

test('a deposit above the single cap is minted once a person approves, and a repeated approval changes nothing', () => {
  const made = opened();
  const id = made.deposit(1_000n * USD + 1n);
  expect(due(made)).toEqual([]);
  const approving = { deposit_id: id, ...PERSON };
  const events = eventsOf(approve(made.ledger, approving));
  expect(events).toEqual([
    {
      type: 'DepositApproved',
      sequence: 3,
      deposit_id: id,
      actor: 'alice',
      reason: 'known to us',
      decided_at: BEGIN,
    },
  ]);
  made.writeAll(events);
  expect(approve(made.ledger, approving)).toEqual({ events: [] });
  expect(reject(made.ledger, approving)).toEqual({ refused: 'not_waiting_for_a_person' });
  mintDue(made);
  expect(made.state(id)).toMatchObject({ status: 'mint_requested', approved: true });
  expect(approve(made.ledger, approving)).toEqual({ events: [] });
  made.writeAll(conclude(made.ledger, finalOf(made), CONCLUDING).events);
  expect(approve(made.ledger, approving)).toEqual({ refused: 'not_waiting_for_a_person' });
});

test('a rejection is final', () => {
  const made = opened();
  const id = made.deposit(USD / 2n);
  const rejecting = { deposit_id: id, ...PERSON };
  made.writeAll(eventsOf(reject(made.ledger, rejecting)));
  expect(made.state(id)).toMatchObject({ status: 'needs_manual', rejected: true });
  expect(reject(made.ledger, rejecting)).toEqual({ events: [] });
  expect(approve(made.ledger, rejecting)).toEqual({ refused: 'rejected_for_good' });
});

test('a mint in flight is released with its deposit, for good', () => {
  const made = opened();
  const id = made.deposit(8n * USD);
  const releasing = { deposit_id: id, ...PERSON };
  expect(release(made.ledger, releasing)).toEqual({ refused: 'no_mint_in_flight' });
  mintDue(made);
  expect(reject(made.ledger, releasing)).toEqual({ refused: 'not_waiting_for_a_person' });
  made.writeAll(eventsOf(release(made.ledger, releasing)));
  expect(made.log.at(-1)).toMatchObject({ type: 'DepositRejected', actor: 'alice' });
  expect(made.state(id)).toMatchObject({ status: 'needs_manual', rejected: true });
  expect(release(made.ledger, releasing)).toEqual({ events: [] });
  expect(approve(made.ledger, releasing)).toEqual({ refused: 'rejected_for_good' });
  expect(due(made)).toEqual([]);
  expect(release(made.ledger, { ...releasing, deposit_id: NOBODY })).toEqual({
    refused: 'no_such_deposit',
  });
  const held = made.deposit(USD / 2n);
  made.writeAll(eventsOf(reject(made.ledger, { ...releasing, deposit_id: held })));
  expect(release(made.ledger, { ...releasing, deposit_id: held })).toEqual({
    refused: 'no_mint_in_flight',
  });
});

test('after a release nonces go on behind the mints in flight, or from those of the chain', () => {
  const made = opened();
  const [first, far, other] = [8n, 9n, 10n].map((usd) => made.deposit(usd * USD));
  made.writeAll(intend(made.ledger, { ...INTENDING, final_nonce: 5, most: 1 }).events);
  made.writeAll(intend(made.ledger, { ...INTENDING, final_nonce: 2 ** 31, most: 1 }).events);
  const next = (): readonly number[] =>
    intend(made.ledger, { ...INTENDING, final_nonce: 5 }).events.map(({ nonce }) => nonce);
  expect(next()).toEqual([2 ** 31 + 1]);
  made.writeAll(eventsOf(release(made.ledger, { deposit_id: far ?? '', ...PERSON })));
  expect(next()).toEqual([6]);
  made.writeAll(eventsOf(release(made.ledger, { deposit_id: first ?? '', ...PERSON })));
  expect(next()).toEqual([5]);
  mintDue(made);
  expect([...made.ledger.live.values()]).toMatchObject([{ deposit_id: other, nonce: 0 }]);
});

test.each([
  ['there is none', (): string => NOBODY, 'no_such_deposit', 'no_such_deposit'],
  [
    'it is minted without anybody',
    (made: MintLedger): string => made.deposit(8n * USD),
    'not_waiting_for_a_person',
    'not_waiting_for_a_person',
  ],
  [
    'nothing is left of it',
    (made: MintLedger): string => made.deposit(0n),
    'nothing_to_mint',
    undefined,
  ],
  [
    'it is larger than the rolling cap',
    (made: MintLedger): string => made.deposit(5_001n * USD),
    'over_rolling_cap',
    undefined,
  ],
] as const)('a person is told why not: %s', (_what, make, approved, rejected) => {
  const made = opened();
  const deciding = { deposit_id: make(made), ...PERSON };
  expect(approve(made.ledger, deciding)).toEqual({ refused: approved });
  expect(reject(made.ledger, deciding)).toMatchObject(
    rejected === undefined ? { events: [{ type: 'DepositRejected' }] } : { refused: rejected },
  );
});

test('a deposit whose mint is dead returns to its former position in the queue', () => {
  const made = opened();
  const [one, two] = [made.deposit(8n * USD), made.deposit(9n * USD)];
  made.writeAll(intend(made.ledger, { ...INTENDING, most: 1 }).events);
  made.writeAll(
    conclude(made.ledger, finalOf(made, { tx_hash: Buffer.alloc(32, 0xdd) }), CONCLUDING).events,
  );
  expect(due(made)).toEqual([one, two]);
  expect(made.ledger.waiting_count).toBe(2);
});

test('a deposit that is not proven delays nobody, and is due once it is', () => {
  const made = opened(100n);
  const [one, two] = [made.deposit(90n * USD), made.deposit(80n * USD)];
  const proven = new Set<string>();
  const options = { ...INTENDING, isProven: (id: string): boolean => proven.has(id) };
  expect(dueMints(made.ledger, { ...options, now: BEGIN + 2 * DAY_MS })).toEqual([]);
  proven.add(two);
  expect(dueMints(made.ledger, options)).toMatchObject([{ deposit_id: two }]);
  proven.add(one);
  expect(dueMints(made.ledger, options)).toMatchObject([{ deposit_id: one }]);
});

test('a deposit whose mint was given up is due once the caller says that each of its mints is over', () => {
  const made = opened();
  const id = made.deposit(8n * USD);
  const over = new Set<number>();
  const options = {
    ...INTENDING,
    isOver: ({ nonce }: { readonly nonce: number }): boolean => over.has(nonce),
  };
  for (const final_nonce of [0, 1]) {
    made.writeAll(intend(made.ledger, { ...INTENDING, final_nonce }).events);
    const dead = finalOf(made, { tx_hash: Buffer.alloc(32, 0xdd) });
    made.writeAll(conclude(made.ledger, dead, CONCLUDING).events);
  }
  expect(made.ledger.givenUp(id).map(({ nonce }) => nonce)).toEqual([0, 1]);
  over.add(1);
  expect(dueMints(made.ledger, options)).toEqual([]);
  over.add(0);
  expect(dueMints(made.ledger, options)).toMatchObject([{ deposit_id: id }]);
});
