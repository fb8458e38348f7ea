/**
 * The audit finds no violation in random correct treasuries, and finds a mutation of each invariant
 * with its offset.
 */
import { expect, test } from 'vitest';
import type { BalanceEffect, BlockAppended } from '../../../../schemas/chain.blocks/events.ts';
import {
  isDepositEvent,
  type DepositConfirmed,
  type MintAcknowledged,
  type MintCredited,
  type MintIntended,
  type RefundRecorded,
  type TreasuryEvent,
} from '../../../../schemas/treasury.ledger/events.ts';
import {
  INVARIANTS,
  type Invariant,
  type LogPosition,
  Findings,
} from '../../../../services/ops/audit/findings.ts';
import {
  auditDeposits,
  CheckpointAudit,
  ledgerRows,
  type Checkpoint,
} from '../../../../services/ops/audit/projection-audit.ts';
import {
  DIGEST_OF_NOTHING,
  digestNext,
  fingerprint,
  type LogRecord,
} from '../../../../services/runtime/kafka/record.ts';
import type { ReserveReconciled } from '../../../../schemas/reserve.runs/events.ts';
import { alice, signed } from '../../../support/operators.ts';
import { Random } from '../../../support/random.ts';
import { audited, type Logs } from './audited.ts';
import { randomLogs } from './random-logs.ts';

const SEEDS = Array.from({ length: 15 }, (_, at) => at + 1);
/** fewer, since signatures take their time */
const MUTATED = 12;
/** By seed: every test reads the same logs, and changes copies. */
const LOGS = new Map(SEEDS.map((seed) => [seed, randomLogs(seed)]));
const LEDGER = { topic: 'treasury.ledger', partition: 0 };
const CHAIN = { topic: 'chain.blocks', partition: 0 };
const RUNS = { topic: 'reserve.runs', partition: 0 };

test('15 random correct treasuries have no violation', () => {
  const types = new Set<string>();
  for (const [seed, logs] of LOGS) {
    for (const { type } of logs.ledger) types.add(type);
    const { findings, ledger } = audited(logs);
    expect({ seed, violations: findings.violations }).toEqual({ seed, violations: [] });
    auditDeposits(ledger, { next_offset: ledger.end, rows: ledgerRows(ledger) }, findings);
    expect(findings.violation_count).toBe(0);
  }
  // all that can be there was there
  expect(types.size).toBe(15);
});

interface Mutant {
  readonly logs: Logs;
  readonly place: LogPosition;
}

type Mutate = (logs: Logs, random: Random) => Mutant | undefined;

function pickOf<Of extends TreasuryEvent>(
  logs: Logs,
  random: Random,
  isOne: (event: TreasuryEvent) => event is Of,
): Of | undefined {
  const all = logs.ledger.filter(isOne);
  return all.length === 0 ? undefined : random.pick(all);
}

const isConfirmed = (event: TreasuryEvent): event is DepositConfirmed =>
  event.type === 'DepositConfirmed';
const isIntended = (event: TreasuryEvent): event is MintIntended => event.type === 'MintIntended';
const isSigned = (event: TreasuryEvent): event is MintAcknowledged | RefundRecorded =>
  event.type === 'MintAcknowledged' || event.type === 'RefundRecorded';
const isCredited = (event: TreasuryEvent): event is MintCredited => event.type === 'MintCredited';

function withLedger(logs: Logs, at: TreasuryEvent, instead: TreasuryEvent): Mutant {
  const changed = 'signature' in instead && 'actor' in instead ? signed(instead, alice) : instead;
  const ledger = logs.ledger.map((event) => (event === at ? changed : event));
  return { logs: { ...logs, ledger }, place: { ...LEDGER, offset: BigInt(at.sequence) } };
}

/** Some block in which a requested Mint, or what it moved, is another. */
function withMint(
  logs: Logs,
  random: Random,
  change: (
    block: BlockAppended,
    index: number,
  ) => Pick<BlockAppended, 'transactions' | 'balance_effects'>,
): Mutant | undefined {
  const requested = new Set(
    logs.ledger.filter(isIntended).map(({ tx_hash }) => tx_hash.toString('hex')),
  );
  const found = logs.chain.flatMap((event) =>
    event.type === 'BlockAppended'
      ? event.balance_effects.flatMap(({ kind, tx_index: txIndex }) => {
          const { hash } = event.transactions[txIndex ?? -1] ?? {};
          const isOurs = kind === 'mint' && requested.has(hash?.toString('hex') ?? '');
          return isOurs && txIndex !== null ? [{ event, index: txIndex }] : [];
        })
      : [],
  );
  if (found.length === 0) return undefined;
  const { event: block, index } = random.pick(found);
  const chain = logs.chain.map((event) =>
    event === block ? { ...block, ...change(block, index) } : event,
  );
  return { logs: { ...logs, chain }, place: { ...CHAIN, offset: BigInt(block.sequence) } };
}

/** Some final block with a transaction, with one effect more. */
function withEffect(logs: Logs, random: Random, effect: Partial<BalanceEffect>): Mutant {
  const blocks = logs.chain.filter((event) => event.type === 'BlockAppended');
  const block = random.pick(blocks.slice(2));
  const given: BalanceEffect = {
    address: Buffer.alloc(20, 1),
    kind: 'mint',
    delta: 1n,
    tx_index: null,
    counterparty: null,
    ...effect,
  };
  const balance_effects = [...block.balance_effects, given];
  const chain = logs.chain.map((event) =>
    event === block ? { ...block, balance_effects } : event,
  );
  return { logs: { ...logs, chain }, place: { ...CHAIN, offset: BigInt(block.sequence) } };
}

/** Some run with other figures. */
function withRun(
  logs: Logs,
  random: Random,
  change: (run: ReserveReconciled) => Partial<ReserveReconciled>,
): Mutant | undefined {
  if (logs.runs.length === 0) return undefined;
  const at = random.below(logs.runs.length);
  const runs = logs.runs.map((run, index) => (index === at ? { ...run, ...change(run) } : run));
  return { logs: { ...logs, runs }, place: { ...RUNS, offset: BigInt(at) } };
}

const MUTATIONS: Readonly<
  // I5 follows from I15 and from the terms that the fold asks for
  Record<Exclude<Invariant, 'I5' | 'I7' | 'I8'>, Readonly<Record<string, Mutate>>>
> = {
  I1: {
    'a deposit of more than arrived'(logs, random) {
      const event = pickOf(logs, random, isConfirmed);
      return event === undefined
        ? undefined
        : withLedger(logs, event, { ...event, gross: event.gross + 1n, credit: event.credit + 1n });
    },
    'a deposit that is somebody else’s'(logs, random) {
      const event = pickOf(
        logs,
        random,
        (each): each is DepositConfirmed => isConfirmed(each) && each.address_ordinal === 0,
      );
      return event === undefined
        ? undefined
        : withLedger(logs, event, { ...event, clt_address: Buffer.alloc(20, 1) });
    },
    'a transfer that is nowhere'(logs, random) {
      const event = pickOf(logs, random, isConfirmed);
      if (event === undefined) return undefined;
      const transfers = logs.transfers.filter(({ event: { tx_id } }) => !tx_id.equals(event.tx_id));
      return { logs: { ...logs, transfers }, place: { ...LEDGER, offset: BigInt(event.sequence) } };
    },
  },
  I2: {
    'a Mint with another hash than was requested': (logs, random) =>
      withMint(logs, random, ({ transactions, balance_effects }, index) => ({
        transactions: transactions.map((each) =>
          each.index === index ? { ...each, hash: Buffer.alloc(32, 0xee) } : each,
        ),
        balance_effects,
      })),
    'a credit of a Mint in another block'(logs, random) {
      const event = pickOf(logs, random, isCredited);
      if (event === undefined) return undefined;
      const intent = logs.ledger.find(
        (each) => each.type === 'MintIntended' && each.tx_hash.equals(event.tx_hash),
      );
      const { logs: changed } = withLedger(logs, event, {
        ...event,
        block_height: event.block_height - 1,
      });
      return { logs: changed, place: { ...LEDGER, offset: BigInt(intent?.sequence ?? -1) } };
    },
  },
  I3: {
    'a Mint of one unit more': (logs, random) =>
      withMint(logs, random, ({ transactions, balance_effects: balanceEffects }, index) => ({
        transactions: transactions.map((each) =>
          each.index === index ? { ...each, amount: each.amount + 1n } : each,
        ),
        balance_effects: balanceEffects.map((each) =>
          each.tx_index === index ? { ...each, delta: each.delta + 1n } : each,
        ),
      })),
    'a Mint to somebody else': (logs, random) =>
      withMint(logs, random, ({ transactions, balance_effects: balanceEffects }, index) => ({
        transactions: transactions.map((each) =>
          each.index === index ? { ...each, to: Buffer.alloc(20, 1) } : each,
        ),
        balance_effects: balanceEffects.map((each) =>
          each.tx_index === index ? { ...each, address: Buffer.alloc(20, 1) } : each,
        ),
      })),
  },
  I4: {
    'a mint above the rolling cap'(logs, random) {
      const event = pickOf(logs, random, isIntended);
      const policy = logs.ledger.findLast(
        (each) =>
          each.type === 'PolicySet' && event !== undefined && each.sequence < event.sequence,
      );
      if (event === undefined || policy?.type !== 'PolicySet') return undefined;
      const { logs: changed } = withLedger(logs, policy, {
        ...policy,
        minimum: 0n,
        single_cap: 1n,
        rolling_cap: 1n,
      });
      const first = logs.ledger.find((each) => isIntended(each) && each.sequence > policy.sequence);
      return { logs: changed, place: { ...LEDGER, offset: BigInt(first?.sequence ?? -1) } };
    },
    'a mint that was approved, without the approval'(logs, random) {
      const event = pickOf(logs, random, (each): each is MintIntended => {
        const before = logs.ledger.slice(0, each.sequence).toReversed();
        const last = before.find(
          (other) =>
            isDepositEvent(other) && isIntended(each) && other.deposit_id === each.deposit_id,
        );
        return last?.type === 'DepositApproved';
      });
      const approval = logs.ledger.findLast(
        (each) =>
          each.type === 'DepositApproved' &&
          each.deposit_id === event?.deposit_id &&
          each.sequence < event.sequence,
      );
      if (event === undefined || approval === undefined) return undefined;
      const { logs: changed } = withLedger(logs, approval, { ...approval, sequence: -1 });
      return { logs: changed, place: { ...LEDGER, offset: BigInt(event.sequence) } };
    },
  },
  I15: {
    'a credit of one unit more'(logs, random) {
      const event = pickOf(logs, random, isConfirmed);
      return event === undefined
        ? undefined
        : withLedger(logs, event, { ...event, credit: event.credit + 1n });
    },
    'a fee of one unit less'(logs, random) {
      const event = pickOf(
        logs,
        random,
        (each): each is DepositConfirmed => isConfirmed(each) && each.fee <= each.gross,
      );
      return event === undefined
        ? undefined
        : withLedger(logs, event, { ...event, fee: event.fee - 1n });
    },
  },
  I6: {
    'a credit of what is credited'(logs, random) {
      const event = pickOf(logs, random, isCredited);
      if (event === undefined) return undefined;
      const { length } = logs.ledger;
      return {
        logs: { ...logs, ledger: [...logs.ledger, { ...event, sequence: length }] },
        place: { ...LEDGER, offset: BigInt(length) },
      };
    },
    'a hold of what is minted'(logs, random) {
      const event = pickOf(logs, random, isCredited);
      if (event === undefined) return undefined;
      const { length } = logs.ledger;
      const held = {
        type: 'DepositHeld',
        reason: 'over_single_cap',
        deposit_id: event.deposit_id,
        decided_at: event.decided_at,
      } as const;
      return {
        logs: { ...logs, ledger: [...logs.ledger, { ...held, sequence: length }] },
        place: { ...LEDGER, offset: BigInt(length) },
      };
    },
  },
  I11: {
    'a mint by the block itself': (logs, random) => withEffect(logs, random, {}),
    'a mint by a transfer': (logs, random) => {
      const blocks = logs.chain.flatMap((event) =>
        event.type === 'BlockAppended'
          ? [
              event.transactions.findIndex(
                ({ function_call_type: functionCallType }) => functionCallType === 'Transfer',
              ),
            ]
          : [],
      );
      return blocks.slice(2).includes(-1) ? undefined : withEffect(logs, random, { tx_index: 0 });
    },
    'a payment that nobody makes': (logs, random) =>
      withEffect(logs, random, { kind: 'transfer_in', tx_index: 0 }),
    'a reward beside the pool': (logs, random) =>
      withEffect(logs, random, { kind: 'block_reward' }),
    'a fee that nobody pays': (logs, random) => withEffect(logs, random, { kind: 'tx_fee_earned' }),
    'an effect of a kind that nobody knows': (logs, random) =>
      withEffect(logs, random, { kind: 'gift' }),
  },
  I12: {
    'another supply': (logs, random) =>
      withRun(logs, random, ({ onchain_supply }) => ({ onchain_supply: onchain_supply + 1n })),
    'less held': (logs, random) => withRun(logs, random, ({ held }) => ({ held: held - 1n })),
    'less uncovered': (logs, random) =>
      withRun(logs, random, ({ uncovered }) => ({ uncovered: uncovered - 1n })),
    'another status': (logs, random) =>
      withRun(logs, random, ({ status }) => ({
        status: status === 'mismatch' ? 'ok' : 'mismatch',
      })),
    'an offset beyond the ledger': (logs, random) =>
      withRun(logs, random, () => ({ ledger_offset: logs.ledger.length + 1 })),
  },
  I13: {
    'a run before some intent that forbids it'(logs, random) {
      const event = pickOf(logs, random, isIntended);
      const run = logs.runs.find(
        ({ ledger_offset: ledgerOffset }) => ledgerOffset <= (event?.sequence ?? -1),
      );
      if (event === undefined || run === undefined) return undefined;
      const forbids = { ...run, status: 'mismatch', run_at: event.decided_at - 4_201_000 };
      return {
        logs: { ...logs, runs: [forbids] },
        place: { ...LEDGER, offset: BigInt(event.sequence) },
      };
    },
  },
  I14: {
    'a decision without its signature'(logs, random) {
      const event = pickOf(logs, random, isSigned);
      if (event === undefined) return undefined;
      const ledger = logs.ledger.map((each) =>
        each === event ? { ...event, signature: Buffer.alloc(0) } : each,
      );
      return {
        logs: { ...logs, ledger },
        place: { ...LEDGER, offset: BigInt(event.sequence) },
      };
    },
    'a decision with another reason than was signed'(logs, random) {
      const event = pickOf(logs, random, isSigned);
      if (event === undefined) return undefined;
      const ledger = logs.ledger.map((each) =>
        each === event ? { ...event, reason: 'another' } : each,
      );
      return {
        logs: { ...logs, ledger },
        place: { ...LEDGER, offset: BigInt(event.sequence) },
      };
    },
  },
};

const CASES: readonly (readonly [string, string, Mutate])[] = Object.entries(MUTATIONS).flatMap(
  ([invariant, mutations]) =>
    Object.entries(mutations).map(([what, mutate]) => [invariant, what, mutate] as const),
);

test.each(CASES)(
  '%s: %s is found, with topic, partition and offset',
  (invariant, _what, mutate) => {
    let tried = 0;
    for (const [seed, logs] of [...LOGS].slice(0, MUTATED)) {
      const mutant = mutate(logs, new Random(seed));
      if (mutant === undefined) continue;
      tried++;
      const { violations } = audited(mutant.logs).findings;
      expect({ seed, violations }).toEqual({
        seed,
        violations: expect.arrayContaining([
          expect.objectContaining({ ...mutant.place, invariant }),
        ]),
      });
    }
    expect(tried).toBeGreaterThanOrEqual(3);
  },
);

test('each invariant has a mutation that violates it', () => {
  expect(new Set([...Object.keys(MUTATIONS), 'I5', 'I7', 'I8'])).toEqual(
    new Set(Object.keys(INVARIANTS)),
  );
});

function recordsOf(count: number): readonly LogRecord[] {
  return Array.from({ length: count }, (_, at) => ({
    offset: BigInt(at),
    timestamp: at,
    key: null,
    value: Buffer.from([at]),
    headers: {},
  }));
}

/** The checkpoint of a projection that has applied the first `next` records. */
function checkpointAt(records: readonly LogRecord[], next: number): Checkpoint {
  let digest: Buffer = DIGEST_OF_NOTHING;
  for (const record of records.slice(0, next)) digest = digestNext(digest, fingerprint(record));
  return {
    projection: 'deposits',
    topic: 'tron.transfers',
    partition: 3,
    next_offset: BigInt(next),
    digest: digest.toString('hex'),
  };
}

function checkpointFindings(
  records: readonly LogRecord[],
  checkpoints: readonly Checkpoint[],
): Findings {
  const findings = new Findings();
  const audit = new CheckpointAudit(checkpoints, findings);
  for (const record of records) audit.record('tron.transfers', 3, record);
  audit.finish('tron.transfers', 3, BigInt(records.length));
  return findings;
}

test('I7: records of another log, in another order or beyond the end are violations at the offset of the checkpoint', () => {
  const records = recordsOf(9);
  const checkpoints = [1, 4, 9].map((next) => checkpointAt(records, next));
  expect(checkpointFindings(records, checkpoints)).toMatchObject({
    violations: [],
    checked: { I7: 3 },
  });
  const other = (at: number, change: Partial<LogRecord>): readonly LogRecord[] =>
    records.map((record, index) => (index === at ? { ...record, ...change } : record));
  const place = { topic: 'tron.transfers', partition: 3, invariant: 'I7' };
  for (const changed of [
    { value: Buffer.from('x') },
    { timestamp: 99 },
    { key: Buffer.from('x') },
    { headers: { x: 'y' } },
  ])
    expect(checkpointFindings(other(2, changed), checkpoints).violations).toMatchObject([
      { ...place, offset: 4n },
      { ...place, offset: 9n },
    ]);
  const [first, second, ...rest] = records;
  if (first === undefined || second === undefined) throw new Error('there are records');
  const swapped = [{ ...second, offset: 0n }, { ...first, offset: 1n }, ...rest];
  expect(checkpointFindings(swapped, checkpoints).violations).toHaveLength(3);
  expect(checkpointFindings(records.slice(0, 8), checkpoints).violations).toMatchObject([
    { ...place, offset: 9n },
  ]);
  expect(
    checkpointFindings(records, [{ ...checkpointAt(records, 4), digest: '00' }]).violations,
  ).toMatchObject([{ ...place, offset: 4n }]);
});

test('I8: a changed cell, a missing row and an extra row are violations at the offset of the rows', () => {
  for (const seed of SEEDS.slice(0, 5)) {
    const { ledger } = audited(randomLogs(seed));
    const rows = ledgerRows(ledger);
    const [id = '', text = ''] = [...rows][new Random(seed).below(rows.size)] ?? [];
    const changed = new Map([
      ...rows,
      [id, text.replace(/\d/, (digit) => String((Number(digit) + 1) % 10))],
    ]);
    const missing = new Map([...rows].filter(([other]) => other !== id));
    const extra = new Map([...rows, ['00000000-0000-8000-8000-000000000000', text]]);
    for (const stored of [changed, missing, extra]) {
      const findings = new Findings();
      auditDeposits(ledger, { next_offset: ledger.end, rows: stored }, findings);
      expect(findings.violations).toMatchObject([
        { ...LEDGER, invariant: 'I8', offset: ledger.end },
      ]);
    }
  }
});
