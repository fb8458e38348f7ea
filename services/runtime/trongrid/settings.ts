/** The settings of processes that ask TRON's provider. */
import { USDT_CONTRACTS } from '../../../schemas/deposit-policy.ts';
import { parseTronAddress, toTronAddress } from '../../../schemas/tron-address.ts';
import { httpUrl, integer, isOpen, text } from '../process/config.ts';
import type { Metrics } from '../process/metrics.ts';

export const TRONGRID_SETTINGS = {
  /** 20 bytes */
  usdt_contract: {
    name: 'APP_USDT_CONTRACT',
    expected: 'an address of TRON in base58 (34 characters, T first)',
    secret: false,
    read: parseTronAddress,
  },
  tron_url: httpUrl('APP_TRON_URL'),
  /** empty where the provider needs none */
  tron_api_key: { ...text('APP_TRON_API_KEY', { default: '' }), secret: true },
  attempts_max: integer('APP_TRON_ATTEMPTS_MAX', { default: 4, min: 1, max: 100 }),
  backoff_ms_min: integer('APP_TRON_BACKOFF_MS_MIN', { default: 500, min: 1, max: 60_000 }),
  backoff_ms_max: integer('APP_TRON_BACKOFF_MS_MAX', { default: 60_000, min: 1, max: 3_600_000 }),
} as const;

/** On the mainnet a worthless token is refused, and a provider that others can stand in for. */
export function mainnetProblems({
  tron_url,
  usdt_contract,
}: {
  readonly tron_url: string;
  readonly usdt_contract: Buffer;
}): readonly string[] {
  const problems: string[] = [];
  if (toTronAddress(usdt_contract) === USDT_CONTRACTS.testnet)
    problems.push(
      `APP_USDT_CONTRACT is ${USDT_CONTRACTS.testnet}, a token of the testnet: on the mainnet it has to be set to ${USDT_CONTRACTS.mainnet}, for the watcher and the treasury`,
    );
  if (isOpen(tron_url))
    problems.push(
      'APP_TRON_URL begins with http://, so that anybody on the way could invent deposits: on the mainnet it has to begin with https://, or be on this machine',
    );
  return problems;
}

/** Lets an alert see that two services believe the same provider. */
export function showProvider(
  metrics: Metrics,
  { tron_url, network }: { readonly tron_url: string; readonly network: string },
): void {
  metrics
    .gauge('tron_provider', "1 at the host of the provider of TRON's data", ['host', 'network'])
    .set({ host: new URL(tron_url).host, network }, 1);
}
