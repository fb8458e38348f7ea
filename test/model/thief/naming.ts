/**
 * I-d: the audit names every forged record that had an effect and should have had none, at its
 * offset, and finds nothing where nobody forged anything. The table says which effects the
 * specification allows, and why.
 */
import { depositIdOf } from '../../../schemas/deposit-id.ts';
import { holdReasonOf } from '../../../schemas/deposit-policy.ts';
import type { DepositAddressEvent } from '../../../schemas/deposit.addresses/events.ts';
import type { ReserveReconciled } from '../../../schemas/reserve.runs/events.ts';
import type { DepositConfirmed, TreasuryEvent } from '../../../schemas/treasury.ledger/events.ts';
import { auditLogs, type AuditResult } from '../../../services/ops/audit/audit.ts';
import { messageOf } from '../../../services/runtime/process/errors.ts';
import { depositKey } from '../../support/deposit-log.ts';
import type { Placed } from './logs.ts';
import { Oracle, type Violation } from './oracle.ts';
import { USDT_CONTRACT } from './tron.ts';
import {
  beginningOf,
  FOREIGN_MINTS_ARE_VOIDED,
  frozenIn,
  HOLDS_ARE_SIGNED,
  isVoiding,
} from './version.ts';
import type { World } from './world.ts';

const AUDIT_MS = 3_600_000;

interface Allowance {
  readonly why: string;
  readonly allows: (record: Placed<TreasuryEvent>, world: World) => boolean;
}

/** Effects that a forged record of the ledger may have without being named. */
const ALLOWED: readonly Allowance[] = [
  {
    why: 'the key of an operator decides alone, within the rules, and each such decision is in the log',
    allows: (record, world) => 'actor' in record.event && new Oracle(world).isEntitled(record),
  },
  {
    why: 'before the treasury has begun the ledger anybody writes first settings, and those who are named there decide: a treasury with other settings does not mint',
    allows: ({ event, offset }, { logs }) =>
      ('version' in event && event.version === 1) || offset < beginningOf(logs.of_ledger),
  },
  {
    why: 'it says what is true, and what the treasury would have written there',
    allows: (record, world) => isTrue(record, world),
  },
  {
    why: 'nothing in the logs shows who made the transaction of a hash, before the treasury voids the mint',
    allows: ({ event }, { logs }) =>
      event.type === 'MintIntended' &&
      (!FOREIGN_MINTS_ARE_VOIDED || !isVoided(event.tx_hash, logs)),
  },
  {
    why: 'a deposit that fits a forged record of tron.transfers shows as invented only at TRON: it is held there, and never minted',
    allows: ({ event }, { logs }) =>
      event.type === 'DepositConfirmed' &&
      logs.of_transfers.some(
        (each) =>
          each.forged !== undefined &&
          each.event.type === 'TransferObserved' &&
          each.event.tx_id.equals(event.tx_id) &&
          each.event.to.equals(event.deposit_address) &&
          each.event.value === event.gross,
      ),
  },
  {
    why: 'a credit that operators have voided is judged by the Mint that is final all the same',
    allows: ({ event }, world) =>
      event.type === 'MintCredited' &&
      world.logs.of_ledger.some(
        (each) =>
          each.counts &&
          isVoiding(each.event) &&
          each.event.tx_hash.equals(event.tx_hash) &&
          new Oracle(world).isEntitled(each),
      ),
  },
  {
    why: 'the key of an operator who decides alone named another mint authority, which signs holds: that decision is in the log, and the treasury says so',
    allows: ({ event, offset }, world) => {
      const named = world.logs.of_ledger.findLast(
        (each) => each.counts && each.event.type === 'AuthoritySet' && each.offset < offset,
      );
      return (
        event.type === 'DepositHeld' &&
        named?.forged !== undefined &&
        new Oracle(world).isEntitled(named)
      );
    },
  },
  {
    why: 'where nobody signs holds, a hold is a claim, and a person looks at the deposit',
    allows: ({ event }) => event.type === 'DepositHeld' && !HOLDS_ARE_SIGNED,
  },
];

function isVoided(txHash: Buffer, { of_ledger }: World['logs']): boolean {
  return of_ledger.some(
    ({ event, counts, forged }) =>
      counts && forged === undefined && isVoiding(event) && event.tx_hash.equals(txHash),
  );
}

/** By the logs alone, what each forged record did is found or allowed. */
export async function naming(world: World): Promise<readonly Violation[]> {
  const { logs, kafka, codec, time } = world;
  const sources = {
    kafka,
    codec,
    reader: undefined,
    usdt_contract: USDT_CONTRACT,
    deposit_key: depositKey(),
  };
  let result: AuditResult;
  try {
    result = await time.finish(auditLogs(sources), 'the audit', AUDIT_MS);
  } catch (error) {
    // records that contradict each other, or another token that operators have pinned
    if (logs.broken !== undefined || messageOf(error).includes('APP_USDT_CONTRACT')) return [];
    return [violation('the audit fails', messageOf(error))];
  }
  if (logs.broken !== undefined) return [violation('the audit misses a broken chain', logs.broken)];
  const { findings } = result;
  const all = [...logs.of_ledger, ...logs.of_addresses, ...logs.of_transfers, ...logs.of_runs];
  if (all.every(({ forged }) => forged === undefined) && findings.violation_count > 0)
    return findings.violations.map(({ invariant, what, topic, offset }) =>
      violation(
        'the audit finds fault with honest logs',
        `${invariant} ${topic}@${offset} ${what}`,
      ),
    );
  const named = new Set(
    findings.violations.map(({ topic, partition, offset }) => `${topic}/${partition}@${offset}`),
  );
  const isNamed = ({ topic, partition, offset }: Placed<unknown>): boolean =>
    named.has(`${topic}/${partition}@${offset}`);
  return [
    ...logs.of_ledger
      .filter((each) => hasEffect(each) && !isNamed(each))
      .flatMap((each) =>
        ALLOWED.some(({ allows }) => allows(each, world)) ||
        isNamedByItsIntent(each, world, isNamed)
          ? []
          : [missed(each)],
      ),
    ...logs.of_addresses
      .filter((each) => hasEffect(each) && !isNamed(each) && isWrong(each, world))
      .map(missed),
    ...logs.of_runs
      .filter((each) => hasEffect(each) && !isNamed(each) && contradictsItself(each.event))
      .map(missed),
  ];
}

function hasEffect({ forged, counts }: Placed<unknown>): boolean {
  return forged !== undefined && counts;
}

function missed({
  event,
  topic,
  partition,
  offset,
  forged,
}: Placed<{ readonly type: string }>): Violation {
  return violation(
    `the audit does not name a forged ${event.type}`,
    `${topic}/${partition}@${offset}: ${forged?.words ?? ''}`,
  );
}

function violation(kind: string, what: string): Violation {
  return { invariant: 'I-d', kind, what };
}

/** The audit names a credit without a Mint at the intent. */
function isNamedByItsIntent(
  { event }: Placed<TreasuryEvent>,
  { logs }: World,
  isNamed: (record: Placed<unknown>) => boolean,
): boolean {
  if (event.type !== 'MintCredited') return false;
  return logs.of_ledger.some(
    (each) =>
      each.event.type === 'MintIntended' &&
      each.event.tx_hash.equals(event.tx_hash) &&
      isNamed(each),
  );
}

function isTrue({ event }: Placed<TreasuryEvent>, world: World): boolean {
  const { logs, node } = world;
  if (event.type === 'DepositConfirmed') return isTrueDeposit(event, world);
  if (event.type === 'DepositHeld') {
    const confirmed = logs.confirmed.get(event.deposit_id)?.event;
    const limits = logs.ledger.policyOf(confirmed?.policy_version ?? 0);
    return (
      confirmed !== undefined &&
      limits !== undefined &&
      holdReasonOf(limits, confirmed.credit) === event.reason
    );
  }
  if (event.type === 'MintCredited')
    return node.mints.some(
      ({ tx_hash, height, block_hash }) =>
        tx_hash.equals(event.tx_hash) &&
        height === event.block_height &&
        block_hash.equals(event.block_hash),
    );
  return (
    event.type === 'MintDead' &&
    node.mints.some(
      ({ tx_hash, nonce, height }) =>
        nonce === event.nonce &&
        tx_hash.equals(event.other_tx_hash) &&
        !tx_hash.equals(event.tx_hash) &&
        height === event.block_height,
    )
  );
}

function isTrueDeposit(
  { deposit_id, tx_id, deposit_address, clt_address, gross, fee, credit }: DepositConfirmed,
  { tron, depositors }: World,
): boolean {
  const paid = tron.find(tx_id);
  const owner = depositors.find(({ address }) => address.equals(deposit_address));
  return (
    paid !== undefined &&
    deposit_id === depositIdOf(paid.tx_id, 0) &&
    paid.to.equals(deposit_address) &&
    paid.value === gross &&
    owner?.account.equals(clt_address) === true &&
    fee >= 0n &&
    credit === (gross > fee ? gross - fee : 0n)
  );
}

/** An address that the key does not derive, or another key. */
function isWrong({ event }: Placed<DepositAddressEvent>, { logs }: World): boolean {
  switch (event.type) {
    case 'SchemePinned':
      return event.fingerprint?.equals(depositKey().fingerprint) !== true;
    case 'AddressRequested': {
      const { book } = logs;
      const address = book.addressOf(event.clt_address);
      return address === undefined || !book.isDerived(depositKey(), event.clt_address, address);
    }
    case 'PanelOpened':
      // it makes the watcher look sooner
      return false;
  }
}

/** Figures that no reading of custody gives. */
function contradictsItself(run: ReserveReconciled): boolean {
  const {
    custody_reported: custody,
    ledger_liability: liability,
    minting,
    waiting,
    uncovered,
  } = run;
  const owed = above0(liability) + above0(minting) + above0(waiting);
  const expected = above0(owed - (custody - frozenIn(run)));
  const isShort = custody < liability;
  return uncovered !== expected || (isShort && run.status !== 'mismatch');
}

function above0(amount: bigint): bigint {
  return amount > 0n ? amount : 0n;
}
