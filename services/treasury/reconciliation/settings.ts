/** What reconciling needs to be told, by the treasury's own process and by the operator's. */
import { parseTronAddress } from '../../../schemas/tron-address.ts';
import { httpUrl, integer, text, type Config, type Setting } from '../../runtime/process/config.ts';

const DAY_MS = 86_400_000;

/** 20 bytes each, separated by commas. */
const CUSTODY_ADDRESSES: Setting<readonly Buffer[]> = {
  name: 'APP_CUSTODY_ADDRESSES',
  expected: 'addresses of TRON in base58, separated by commas',
  secret: false,
  fallback: [],
  read(given) {
    const addresses = given.split(',').map((each) => parseTronAddress(each.trim()));
    return addresses.every((each) => each !== undefined) ? addresses : undefined;
  },
};

const TOLERANCE: Setting<bigint> = {
  name: 'APP_RESERVE_TOLERANCE',
  expected: 'micro-USD, a whole number of at most 30 digits',
  secret: false,
  fallback: 1_000_000n,
  read: (given) => (/^[0-9]{1,30}$/.test(given) ? BigInt(given) : undefined),
};

export const RECONCILIATION_SETTINGS = {
  tron_url: httpUrl('APP_TRON_URL'),
  // never shown, and empty where the provider needs none
  tron_api_key: { ...text('APP_TRON_API_KEY', { default: '' }), secret: true },
  /** where the USDT lies that is not on deposit addresses any more */
  custody_addresses: CUSTODY_ADDRESSES,
  /** how much more than is explained may be in custody */
  reserve_tolerance: TOLERANCE,
  /** a day of these and of the watcher's is what a provider's key allows */
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
  /** a transfer that arrived longer ago, and is not in the ledger, explains no surplus any more */
  arriving_max_ms: integer('APP_ARRIVING_MAX_MS', {
    default: DAY_MS,
    min: 1_000,
    max: 365 * DAY_MS,
  }),
  attempts_max: integer('APP_TRON_ATTEMPTS_MAX', { default: 4, min: 1, max: 100 }),
  backoff_ms_min: integer('APP_TRON_BACKOFF_MS_MIN', { default: 500, min: 1, max: 60_000 }),
  backoff_ms_max: integer('APP_TRON_BACKOFF_MS_MAX', { default: 60_000, min: 1, max: 3_600_000 }),
  reconcile_every_ms: integer('APP_RECONCILE_EVERY_MS', {
    default: 900_000,
    min: 100,
    max: DAY_MS,
  }),
  /** nothing is minted when the newest run is older; 0: however old it is */
  reconcile_age_max_ms: integer('APP_RECONCILE_AGE_MAX_MS', {
    default: 3_600_000,
    min: 0,
    max: 30 * DAY_MS,
  }),
} as const;

export type ReconciliationConfig = Config<typeof RECONCILIATION_SETTINGS>;

/** What would make the settings contradict each other; empty when nothing does. */
export function reconciliationProblems({
  reconcile_every_ms: every,
  reconcile_age_max_ms: ageMax,
}: Pick<ReconciliationConfig, 'reconcile_every_ms' | 'reconcile_age_max_ms'>): readonly string[] {
  if (ageMax === 0 || ageMax > every) return [];
  return [
    `APP_RECONCILE_AGE_MAX_MS is ${ageMax}, not above APP_RECONCILE_EVERY_MS, ${every}: between two runs nothing would be minted; raise it, or set 0 for no limit`,
  ];
}
