/**
 * One measurement. Its order makes every figure at least as new as the figures it depends on:
 *
 * 1. The final block.
 * 2. The ledger: every mint in that block was intended before.
 * 3. The balances: every deposit in the ledger had arrived before.
 * 4. The ledger again, whose offset is that of the figures. Addresses that received meanwhile have
 *    their balances read again, so that everything in the ledger is in custody.
 *
 * Money that is swept during the measurement could be counted twice or not at all. Custody
 * addresses are read first and last: when one has changed, the measurement starts again. Money that
 * arrived and is not in the ledger is not counted.
 */
import {
  positionOf,
  ledgerPosition,
  surplusOf,
  isSupplyExplained,
  type Position,
} from '../../../projections/reserve/position.ts';
import type { FinalSupply } from '../../../projections/reserve/supply.ts';
import { Fault } from '../../runtime/process/errors.ts';
import {
  arrivingAt,
  isSame,
  readBalances,
  totalOf,
  type BalanceProvider,
  type Balances,
  type Progress,
} from './custody.ts';
import type { ReserveLogs } from './logs.ts';

/** Attempts before sweeping is considered endless. */
const TRIES = 3;

export interface MeasureOptions {
  readonly logs: Pick<ReserveLogs, 'catchUp' | 'ledger' | 'receipts' | 'supply'>;
  readonly provider: BalanceProvider;
  /** 20 bytes */
  readonly usdt_contract: Buffer;
  readonly custody_addresses: readonly Buffer[];
  /** tolerated surplus, base units */
  readonly tolerance: bigint;
  /** maximum age of the final block; 0: none */
  readonly block_age_max_ms: number;
  /** maximum age of a transfer that explains a surplus */
  readonly arriving_max_ms: number;
  readonly progress: Progress;
  /** Unix milliseconds */
  readonly now: () => number;
}

export interface Measured {
  readonly final: FinalSupply;
  readonly ledger_offset: bigint;
  /** the hash of the last record before it */
  readonly ledger_head: Buffer;
  readonly position: Position;
}

/** Throws a fault with retry when no figures are possible now. */
export async function measure(options: MeasureOptions): Promise<Measured> {
  for (let tries = 1; tries <= TRIES; tries++) {
    const measured = await attempt(options);
    if (measured !== undefined) return measured;
  }
  throw new Fault(
    'custody_moving',
    `money moved on a custody address ${TRIES} times while balances were read; it is tried again, and goes well once nothing is swept for as long as that takes`,
    { retry: true },
  );
}

async function attempt(options: MeasureOptions): Promise<Measured | undefined> {
  const { logs, provider, custody_addresses: own, progress } = options;
  const { ledger, receipts, supply } = logs;
  await logs.catchUp('chain');
  const final = recent(supply.final, options);
  await logs.catchUp('ledger');
  const { timestamp } = await provider.head();
  if (timestamp < receipts.newest_block_timestamp)
    throw behind(timestamp, receipts.newest_block_timestamp);

  const isOwn = new Set(own.map((address) => address.toString('latin1')));
  const deposited = (from: bigint): readonly Buffer[] =>
    receipts.addresses(from).filter((address) => !isOwn.has(address.toString('latin1')));
  const begun = ledger.end;
  const known = deposited(0n);
  progress.planned(2 * isOwn.size + known.length);
  const before = await readBalances(provider, own, progress);
  const first = await readBalances(provider, known, progress);
  await logs.catchUp('ledger');
  const position = ledgerPosition(ledger, supply, final);
  const ledger_head = ledger.head;
  const again = await readBalances(provider, deposited(begun), progress);
  const after = await readBalances(provider, own, progress);
  if (!isSame(before, after)) return undefined;

  const { ledger_offset: offset } = position;
  const whole = positionOf(position, final, totalOf(first, again, after));
  const since = timestamp - options.arriving_max_ms;
  const arriving = await explained(
    whole,
    { balances: new Map([...first, ...again]), offset, since },
    options,
  );
  return {
    final,
    ledger_offset: offset,
    ledger_head,
    position: { ...whole, custody_reported: whole.custody_reported - arriving },
  };
}

/** The part of a surplus that is on its way into the ledger. */
async function explained(
  position: Position,
  {
    balances,
    offset,
    since,
  }: { readonly balances: Balances; readonly offset: bigint; readonly since: number },
  options: MeasureOptions,
): Promise<bigint> {
  const { provider, usdt_contract, tolerance, logs } = options;
  const wanted = surplusOf(position);
  if (wanted <= tolerance || !isSupplyExplained(position)) return 0n;
  const holdings = [...balances].map(([key, balance]) => {
    const address = Buffer.from(key, 'latin1');
    return { address, balance, known: logs.receipts.of(address, offset) };
  });
  return arrivingAt(holdings, { provider, usdt_contract, wanted, since });
}

function recent(
  final: FinalSupply | undefined,
  { block_age_max_ms: ageMax, now }: MeasureOptions,
): FinalSupply {
  if (final === undefined)
    throw new Fault('chain_not_final', 'no block of chain.blocks is final yet; it is tried again', {
      retry: true,
    });
  const age = now() - final.timestamp;
  if (ageMax === 0 || age <= ageMax) return final;
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
