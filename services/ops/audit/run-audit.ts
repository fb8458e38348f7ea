/**
 * I12: each reserve run again, at its ledger offset and its final block; custody, and the parts of
 * it and of the deposits that are frozen or not proven, are the run's own readings. The block need
 * not be the newest one of a record: a chain that is written again has other records. I13: no mint
 * is requested while the newest run in the log forbids it.
 */
import type { Recorded } from '../../../projections/contract/projection.ts';
import {
  positionOf,
  possibleStatuses,
  type Position,
} from '../../../projections/reserve/position.ts';
import type { ChainSupply, FinalSupply } from '../../../projections/reserve/supply.ts';
import type { ReserveReconciled } from '../../../schemas/reserve.runs/events.ts';
import { RUN_RULES } from '../../../schemas/reserve.runs/rules.ts';
import { NO_RECORDS } from '../../../schemas/hash-chain.ts';
import { RESERVE_RUNS, TREASURY_LEDGER } from '../../../schemas/topics.ts';
import type { TreasuryEvent } from '../../../schemas/treasury.ledger/events.ts';
import { NewestRun, runForbids } from '../../treasury/reconciliation/newest-run.ts';
import type { Findings, LogPosition } from './findings.ts';
import type { Intent } from './ledger-audit.ts';
import { SummedLedger, type Told } from './summed-ledger.ts';

/**
 * A mint is requested after a run when more time than this is between them, besides the difference
 * of the two clocks as far as the logs show it: it covers what they do not show, and the pause of a
 * process between deciding and appending.
 */
const APART_MS = 600_000;
/** A treasury does not mint by runs whose clock is further from its own, by default. */
const CLOCKS_MAX_MS = 3_600_000;

/** The amounts of every run; records of older writers have no others. */
const ALWAYS: ReadonlySet<string> = new Set<keyof Position>([
  'onchain_supply',
  'genesis_allocation',
  'treasury_minted',
  'burned',
  'ledger_liability',
  'custody_reported',
  'held',
  'retained_fees',
]);

interface PlacedRun {
  readonly run: ReserveReconciled;
  readonly position: LogPosition;
}

/** From a run that forbids minting to the next one that allows it. */
interface Closing {
  readonly run: ReserveReconciled;
  /** of the run that allows it again; Infinity: there is none yet */
  to_offset: number;
  /** runs in between, in order: a record from `ledger_offset` on is newer than `begun_at` */
  readonly later: Pick<ReserveReconciled, 'ledger_offset' | 'begun_at'>[];
}

export class RunAudit {
  readonly #findings: Findings;
  readonly #ledger = new SummedLedger();
  readonly #newest = new NewestRun();
  readonly #closings: Closing[] = [];
  /** to be computed again, by ledger offset; those of no block are left out */
  readonly #due = new Map<number, PlacedRun[]>();
  /** the supply at the blocks of runs */
  readonly #finals = new Map<number, FinalSupply | undefined>();
  /** of the treasury's own records */
  #newestDecision = 0;
  /** how far the treasury's clock is at least ahead of that of runs, milliseconds */
  #clocksApart = 0;
  /** offset of the first run with the fields that older writers do not know */
  #fullFrom: bigint | undefined;

  constructor(findings: Findings) {
    this.#findings = findings;
  }

  /** First: all runs. `isDue`: ledger and chain are read at least as far as by its writer. */
  run(recorded: Recorded<ReserveReconciled>, isDue: boolean): void {
    const { event: run, offset } = recorded;
    const position = { topic: RESERVE_RUNS.name, partition: 0, offset };
    this.#findings.rules(RUN_RULES, run, position);
    if (isDue) {
      this.#finals.set(run.block_height, undefined);
      const others = this.#due.get(run.ledger_offset);
      if (others === undefined) this.#due.set(run.ledger_offset, [{ run, position }]);
      else others.push({ run, position });
    }
    if (run.begun_at > 0) this.#fullFrom ??= offset;
    this.#newest.fold({
      topic: RESERVE_RUNS.name,
      partition: 0,
      from: offset,
      next: offset + 1n,
      events: [recorded],
      fingerprints: [],
      sizes: [],
    });
    if (this.#newest.run === run) this.#gate(run);
  }

  /** Minting is closed, stays closed, or is open again. */
  #gate(run: ReserveReconciled): void {
    const last = this.#closings.at(-1);
    const isClosed = last?.to_offset === Infinity;
    const isForbidden = runForbids(run) !== undefined;
    if (isClosed && isForbidden) last.later.push(run);
    else if (isClosed) last.to_offset = run.ledger_offset;
    else if (isForbidden) this.#closings.push({ run, to_offset: Infinity, later: [] });
  }

  /** Second: the supply at every final block. */
  final(final: FinalSupply): void {
    if (this.#finals.has(final.height)) this.#finals.set(final.height, final);
  }

  /** The offset after the last record of the ledger that `ledger` has to get. */
  get ledger_end(): bigint {
    return BigInt(this.#due.keys().reduce((last, offset) => Math.max(last, offset), 0));
  }

  /** Third: the ledger, every record up to `ledgerEnd`. */
  ledger(event: TreasuryEvent, offset: bigint, told: Told): void {
    this.#compute(told.supply);
    const counts = this.#ledger.apply(event, offset, told);
    if (counts && !('actor' in event))
      this.#newestDecision = Math.max(this.#newestDecision, event.decided_at);
  }

  /** Last. `intents`: those of the ledger that count, in order. */
  finish(intents: Iterable<Intent>, supply: ChainSupply): void {
    this.#compute(supply);
    for (const { run, position } of [...this.#due.values()].flat())
      this.#findings.check(
        'I12',
        position,
        false,
        () =>
          `run ${run.run_id} is of ledger offset ${run.ledger_offset}, and the ledger ends at ${this.#ledger.end}`,
      );
    for (const intent of intents) this.#intended(intent);
  }

  /** The runs at this offset of the ledger. */
  #compute(supply: ChainSupply): void {
    const at = Number(this.#ledger.end);
    for (const { run, position } of this.#due.get(at) ?? []) {
      const ahead = Math.min(CLOCKS_MAX_MS, this.#newestDecision - run.run_at);
      this.#clocksApart = Math.max(this.#clocksApart, ahead);
      const problem = this.#problemOf(run, position.offset, supply);
      const check = this.#findings.at(position);
      check('I12', problem === undefined, () => `run ${run.run_id} ${problem}`);
    }
    this.#due.delete(at);
  }

  #problemOf(run: ReserveReconciled, offset: bigint, supply: ChainSupply): string | undefined {
    const {
      block_height: blockHeight,
      block_hash: blockHash,
      custody_reported: custodyReported,
      status,
    } = run;
    const { ledger_head: ledgerHead = NO_RECORDS } = run;
    const final = this.#finals.get(blockHeight);
    if (final?.hash.equals(blockHash) !== true)
      return `is of block ${blockHeight} ${blockHash.toString('hex')}, which was never final`;
    if (ledgerHead.length > 0 && !ledgerHead.equals(this.#ledger.head))
      return `is of a ledger with the head ${ledgerHead.toString('hex')}, it was ${this.#ledger.head.toString('hex')}`;
    const { unproven = 0n, unproven_refunds = 0n, frozen = 0n, unminted = 0n } = run;
    const ledger = this.#ledger.at(final, supply);
    if (unproven > ledger.waiting || unproven_refunds > ledger.refunded || frozen > custodyReported)
      return 'says that more is not proven, or frozen, than there is';
    // its maker's own readings, like custody
    const read = {
      waiting: ledger.waiting - unproven,
      unproven,
      refunded: ledger.refunded - unproven_refunds,
      unproven_refunds,
    };
    const position = positionOf({ ...ledger, ...read }, final, custodyReported, frozen);
    if (unminted < position.unminted)
      return `says unminted ${unminted}, it was at least ${position.unminted}`;
    const isFull = this.#fullFrom !== undefined && offset >= this.#fullFrom;
    for (const [name, value] of Object.entries(position)) {
      // what was in no final block then may be in one by now
      if (name === 'unminted') continue;
      const isDemanded = run.begun_at > 0 || ALWAYS.has(name) || (isFull && name === 'uncovered');
      const said: unknown = Reflect.get(run, name);
      if (isDemanded && said !== value) return `says ${name} ${String(said)}, it was ${value}`;
    }
    const statuses = possibleStatuses(position);
    return statuses.some((each) => each === status)
      ? undefined
      : `says ${status}, it was ${statuses.join(' or ')}`;
  }

  /** I13 for one intent. */
  #intended({ deposit_id: depositId, offset, decided_at }: Intent): void {
    const closing = this.#closings.find(
      ({ run, to_offset: toOffset }) => run.ledger_offset <= offset && offset < toOffset,
    );
    const seen = closing?.later.findLast(
      ({ ledger_offset: ledgerOffset }) => ledgerOffset <= offset,
    );
    const at = Math.max(decided_at, seen?.begun_at ?? 0);
    this.#findings.check(
      'I13',
      { topic: TREASURY_LEDGER.name, partition: 0, offset },
      closing === undefined || at <= closing.run.run_at + this.#clocksApart + APART_MS,
      () =>
        `the mint of deposit ${depositId} was requested after run ${closing?.run.run_id}, which forbids it`,
    );
  }
}
