/**
 * One measurement. Its order makes every figure at least as new as the figures it depends on:
 *
 * 1. The final block.
 * 2. The ledger: every mint in that block was intended before.
 * 3. The balances: every deposit in the ledger had arrived before.
 * 4. The ledger again, whose offset is that of the figures. Addresses that received meanwhile have
 *    their balances read again, so that everything in the ledger is in custody.
 *
 * Money may be swept meanwhile. The custody addresses are read first and last. A sweep in between
 * is missing from the sum with the first reading, or counted twice in the sum with the last one;
 * the truth lies between the two sums. When both say the same about minting, the lower one is
 * published; otherwise the measurement starts again, as it does where the lower one alone is a
 * mismatch. Balances of one request are of one block.
 *
 * The measurement begins once the tokens for it are saved, so that it takes seconds. Balances that
 * have probably not changed (see `readings.ts`) are read before it begins. Money that arrived and
 * is not in the ledger is not counted. Money that the token blocks is in custody, and frozen; so is
 * all of it while the token is paused, or after another contract has taken its place.
 */
import { bytesKey } from '../../../schemas/address.ts';
import {
  BELIEVED,
  holderOf,
  isShort,
  isSupplyExplained,
  ledgerPosition,
  positionOf,
  statusOf,
  sumsOf,
  surplusOf,
  type Holder,
  type Position,
  type Proofs,
  type Receiver,
} from '../../../projections/reserve/position.ts';
import type { FinalSupply } from '../../../projections/reserve/supply.ts';
import type { TokenState } from '../../../schemas/trongrid.ts';
import { Fault } from '../../runtime/process/errors.ts';
import type { ArrivalOptions, Arrivals } from './arrivals.ts';
import type { ReserveLogs } from './logs.ts';
import type { BalanceProvider, Readings, Sum } from './readings.ts';

/** Attempts before sweeping is considered endless. */
const TRIES = 3;

/**
 * The deposit addresses that are children of our key. Whatever a forged deposit says, the money at
 * other addresses is not in custody.
 */
export interface OwnAddresses {
  /** resolves once they are known up to the end of their log */
  catchUp(): Promise<void>;
  /** derives an address that was not asked for before */
  has(receiver: Receiver): boolean;
}

/** Addresses derived in a row: 0.6 ms each. */
const DERIVED_IN_A_ROW = 100;

/** The progress of reading balances. */
export interface Progress {
  /** what is to be read, at the beginning of each attempt */
  planned(balances: number, requests: number): void;
  /** one request was answered */
  read(): void;
}

export interface MeasureOptions {
  readonly logs: Pick<ReserveLogs, 'catchUp' | 'ledger' | 'receipts' | 'supply'>;
  readonly provider: BalanceProvider;
  /** resolves once this many requests can be made without a pause, as far as they can be saved */
  readonly saved: (requests: number) => Promise<void>;
  readonly readings: Readings;
  readonly arrivals: Arrivals;
  /** requests for balances that have probably not changed */
  readonly refresh_requests: number;
  /** 20 bytes */
  readonly usdt_contract: Buffer;
  readonly custody_addresses: readonly Buffer[];
  /** undefined: every deposit address in the ledger counts */
  readonly own_addresses?: OwnAddresses | undefined;
  /** what the treasury has proven; undefined: the ledger is believed */
  readonly proofs?: Proofs | undefined;
  /** tolerated surplus, base units */
  readonly tolerance: bigint;
  /** maximum age of the final block; 0: none */
  readonly block_age_max_ms: number;
  /** maximum age of a transfer that explains a surplus */
  readonly arriving_max_ms: number;
  readonly progress: Progress;
  readonly onBadAnswer: ArrivalOptions['onBadAnswer'];
  /** Unix milliseconds */
  readonly now: () => number;
}

export interface Measured {
  readonly final: FinalSupply;
  readonly ledger_offset: bigint;
  /** the hash of the last record before it */
  readonly ledger_head: Buffer;
  readonly position: Position;
  readonly token: TokenState;
  /** the addresses with money that the token blocks */
  readonly blocked: readonly Buffer[];
  /** Unix milliseconds: the figures are at least as new */
  readonly begun_at: number;
  /** Unix milliseconds: the oldest reading of a balance that had not changed */
  readonly oldest_reading_at: number;
}

/** Throws a fault with retry when no figures are possible now. */
export async function measure(options: MeasureOptions): Promise<Measured> {
  options.readings.begin();
  for (let tries = 1; tries <= TRIES; tries++) {
    const measured = await attempt(options, tries === TRIES);
    if (measured !== undefined) return measured;
  }
  throw new Fault(
    'custody_moving',
    `so much money was swept ${TRIES} times while balances were read that it is not known whether any is missing; it is tried again, and goes well once nothing is swept for as long as that takes`,
    { retry: true },
  );
}

async function attempt(options: MeasureOptions, isLast: boolean): Promise<Measured | undefined> {
  const { logs, provider, readings, progress, own_addresses: ownAddresses, now } = options;
  const { ledger, receipts, supply } = logs;
  const read = (holders: readonly Holder[]): Promise<number> =>
    readings.read(holders, { provider, now, onRead: () => progress.read() });
  const own = options.custody_addresses.map(holderOf);
  const isOwn = new Set(own.map(({ key }) => key));
  let displaced = BELIEVED.displaced();
  const deposited = (from?: bigint): readonly Holder[] => {
    const known: readonly Holder[] = receipts
      .holders(from)
      .filter((each) => !isOwn.has(each.key) && ownAddresses?.has(each) !== false);
    const all = [...known, ...displaced.map(({ to }) => holderOf(to))];
    return [...new Map(all.map((each) => [each.key, each])).values()];
  };
  const readLedger = async (): Promise<void> => {
    await logs.catchUp('ledger');
    await ownAddresses?.catchUp();
  };

  await readLedger();
  for (const [at, receiver] of (ownAddresses === undefined ? [] : receipts.holders()).entries()) {
    ownAddresses?.has(receiver);
    if (at % DERIVED_IN_A_ROW === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  await prepare(options, deposited(), read);

  const begun_at = now();
  await logs.catchUp('chain');
  const final = recent(supply.final, options);
  await readLedger();
  const { timestamp } = await provider.head();
  if (timestamp < receipts.newest_block_timestamp)
    throw behind(timestamp, receipts.newest_block_timestamp);
  const begun = ledger.end;
  const requests = await read([...own, ...readings.due(deposited(), receipts)]);
  const before = readings.sum(own);
  await readLedger();
  // every mint that the ledger calls credited was in a final block of the log before
  await logs.catchUp('chain');
  const sums = sumsOf(ledger, supply, final.height, options.proofs);
  // of the same moment as the sums, so that its addresses are read below
  displaced = options.proofs?.displaced() ?? displaced;
  const held = ledgerPosition(ledger, supply, final, sums);
  const ledger_head = ledger.head;
  const holders = deposited();
  const again = deposited(begun);
  if (requests > 1 || again.length > 0) await read([...again, ...own]);
  const after = readings.sum(own);
  const deposits = readings.sum(holders);
  const token = await readings.token(provider);

  // like what arrives: in custody, and not what the ledger says
  const owed = displaced.reduce((sum, each) => sum + each.value, 0n);
  const { ledger_offset } = held;
  const [low, high] = before.total < after.total ? [before, after] : [after, before];
  const lower = positionOf(held, final, deposits.total + low.total - owed);
  const arriving = await arrivingIn(lower, { holders, ledger_offset, timestamp }, options);
  const counted = (sum: Sum): Position => {
    const custody = deposits.total + sum.total - arriving.total - owed;
    const blocked = deposits.blocked + sum.blocked - arriving.blocked;
    return positionOf(held, final, custody, frozenOf(custody, blocked, token));
  };
  const position = counted(low);
  const upper = counted(high);
  if (isShort(position) !== isShort(upper)) return undefined;
  // both close the gate, and only one of them says that custody is below the liability
  if (!isLast && isMismatch(position) !== isMismatch(upper)) return undefined;
  return {
    final,
    ledger_offset,
    ledger_head,
    position,
    token,
    blocked: readings.blocked([...own, ...holders]),
    begun_at,
    oldest_reading_at: Math.min(begun_at, readings.oldest(holders)),
  };
}

function isMismatch(position: Position): boolean {
  return statusOf(position, 0n) === 'mismatch';
}

/** The part of custody that cannot be moved, from 0 to all of it. */
function frozenOf(custody: bigint, blocked: bigint, { paused, deprecated }: TokenState): bigint {
  const frozen = paused || deprecated || blocked > custody ? custody : blocked;
  return frozen > 0n ? frozen : 0n;
}

/** Reads the balances that have probably not changed, and saves the tokens for the others. */
async function prepare(
  { logs: { receipts }, readings, progress, ...options }: MeasureOptions,
  holders: readonly Holder[],
  read: (holders: readonly Holder[]) => Promise<number>,
): Promise<void> {
  const own = options.custody_addresses.map(holderOf);
  const known = readings.due(holders, receipts);
  const older = readings.toRefresh(holders, known, options.refresh_requests);
  progress.planned(
    older.length + known.length + 2 * own.length,
    readings.requestsFor(older) +
      readings.requestsFor([...own, ...known]) +
      readings.token_requests +
      1,
  );
  await read(older);
  const due = readings.due(holders, receipts);
  // and the head, and the last reading of custody
  await options.saved(readings.requestsFor([...own, ...due]) + readings.token_requests + 2);
}

const NOTHING: Sum = { total: 0n, blocked: 0n };

/** The part of a surplus that is on its way into the ledger. */
async function arrivingIn(
  position: Position,
  at: {
    readonly holders: readonly Holder[];
    readonly ledger_offset: bigint;
    /** of the head of TRON before the balances were read */
    readonly timestamp: number;
  },
  { provider, readings, arrivals, usdt_contract, logs, ...options }: MeasureOptions,
): Promise<Sum> {
  const wanted = surplusOf(position);
  if (!isSupplyExplained(position)) return NOTHING;
  if (wanted <= options.tolerance) {
    readings.settle();
    return NOTHING;
  }
  const ours = new Set([
    ...options.custody_addresses.map(bytesKey),
    ...at.holders.map(({ key }) => key),
  ]);
  return arrivals.at(at.holders, {
    provider,
    readings,
    receipts: logs.receipts,
    usdt_contract,
    isOurs: (address) => ours.has(bytesKey(address)),
    ledger_offset: at.ledger_offset,
    since: at.timestamp - options.arriving_max_ms,
    read_at: at.timestamp,
    wanted,
    onBadAnswer: options.onBadAnswer,
  });
}

function recent(
  final: FinalSupply | undefined,
  { block_age_max_ms: blockAgeMaxMs, now }: MeasureOptions,
): FinalSupply {
  if (final === undefined)
    throw new Fault('chain_not_final', 'no block of chain.blocks is final yet; it is tried again', {
      retry: true,
    });
  const age = now() - final.timestamp;
  if (blockAgeMaxMs === 0 || age <= blockAgeMaxMs) return final;
  throw new Fault(
    'chain_stale',
    `the newest final block of chain.blocks, ${final.height}, is ${Math.round(age / 1_000)} s old: what was minted since is not known. Look at the chain-ingester and the node; it is tried again`,
    { retry: true },
  );
}

function behind(timestamp: number, known: number): Fault {
  return new Fault(
    'tron_behind',
    `TRON's provider is at ${new Date(timestamp).toISOString()}, and has told of deposits up to ${new Date(known).toISOString()} before: its balances would be old; it is tried again`,
    { retry: true },
  );
}
