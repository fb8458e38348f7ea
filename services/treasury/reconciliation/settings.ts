/** Settings of reconciliations, shared by the treasury and the operator's command. */
import { parseTronAddress } from '../../../schemas/tron-address.ts';
import { integer, type Config, type Setting } from '../../runtime/process/config.ts';
import { TRONGRID_SETTINGS } from '../../runtime/trongrid/settings.ts';

const DAY_MS = 86_400_000;

/** 20 bytes each. Without a default: a run that forgets them finds that money is missing. */
const CUSTODY_ADDRESSES: Setting<readonly Buffer[]> = {
  name: 'APP_CUSTODY_ADDRESSES',
  expected: 'addresses of TRON in base58, separated by commas, or none where nothing is swept',
  secret: false,
  read(given) {
    if (given === 'none') return [];
    const addresses = given.split(',').map((each) => parseTronAddress(each.trim()));
    return addresses.every((each) => each !== undefined) ? addresses : undefined;
  },
};

export function microUsd<Fallback>(name: string, fallback: Fallback): Setting<bigint | Fallback> {
  return {
    name,
    expected: 'micro-USD, a whole number of at most 30 digits',
    secret: false,
    fallback,
    read: (text) => (/^[0-9]{1,30}$/.test(text) ? BigInt(text) : undefined),
  };
}

/**
 * Deposits of less, in micro-USDT, are shown apart: strangers send them for nothing. It is a matter
 * of display, and decides nothing.
 */
export const DUST = { dust_below: microUsd('APP_DUST_BELOW', 10_000n) } as const;

export const RECONCILIATION_SETTINGS = {
  ...TRONGRID_SETTINGS,
  /** addresses of the swept USDT */
  custody_addresses: CUSTODY_ADDRESSES,
  /** unexplained surplus in custody that is tolerated, micro-USD */
  reserve_tolerance: microUsd('APP_RESERVE_TOLERANCE', 1_000_000n),
  /** the watcher's requests come on top of these; a provider's key has to allow both */
  reconcile_requests_per_second: integer('APP_RECONCILE_REQUESTS_PER_SECOND', {
    default: 3,
    min: 1,
    max: 10_000,
  }),
  reconcile_requests_per_day: integer('APP_RECONCILE_REQUESTS_PER_DAY', {
    default: 9_000,
    min: 0,
    max: 1_000_000_000,
  }),
  /** a transfer not in the ledger explains a surplus for this long after its arrival */
  arriving_max_ms: integer('APP_ARRIVING_MAX_MS', {
    default: DAY_MS,
    min: 1_000,
    max: 365 * DAY_MS,
  }),
  reconcile_every_ms: integer('APP_RECONCILE_EVERY_MS', {
    default: 900_000,
    min: 100,
    max: DAY_MS,
  }),
  /** without an own run that is as new, nothing is minted; 0: no limit */
  reconcile_age_max_ms: integer('APP_RECONCILE_AGE_MAX_MS', {
    default: 3_600_000,
    min: 0,
    max: 30 * DAY_MS,
  }),
} as const;

/** The part of the requests between two runs that reads balances which have not changed. */
const REFRESH_SHARE = 0.1;

/** Requests of each run for balances that have probably not changed; at least one. */
export function refreshRequests({
  reconcile_requests_per_second: reconcileRequestsPerSecond,
  reconcile_requests_per_day: reconcileRequestsPerDay,
  reconcile_every_ms: reconcileEveryMs,
}: Pick<
  ReconciliationConfig,
  'reconcile_requests_per_second' | 'reconcile_requests_per_day' | 'reconcile_every_ms'
>): number {
  const perMs =
    reconcileRequestsPerDay === 0
      ? reconcileRequestsPerSecond / 1_000
      : reconcileRequestsPerDay / DAY_MS;
  return Math.max(1, Math.floor(perMs * reconcileEveryMs * REFRESH_SHARE));
}

export type ReconciliationConfig = Config<typeof RECONCILIATION_SETTINGS>;

/** Contradictions between the settings. */
export function reconciliationProblems({
  reconcile_every_ms: reconcileEveryMs,
  reconcile_age_max_ms: reconcileAgeMaxMs,
}: Pick<ReconciliationConfig, 'reconcile_every_ms' | 'reconcile_age_max_ms'>): readonly string[] {
  if (reconcileAgeMaxMs === 0 || reconcileAgeMaxMs > reconcileEveryMs) return [];
  return [
    `APP_RECONCILE_AGE_MAX_MS is ${reconcileAgeMaxMs}, not above APP_RECONCILE_EVERY_MS, ${reconcileEveryMs}: between two runs nothing would be minted; raise it, or set 0 for no limit`,
  ];
}
