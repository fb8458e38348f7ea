/** Opens a client of TRON's provider, with a token bucket and a back-off of its own. */
import { Backoff, type BackoffOptions } from './backoff.ts';
import { TokenBucket, type BucketOptions } from './token-bucket.ts';
import { TronGrid, type TronGridOptions } from './trongrid.ts';

/** ms of a monotonic clock */
const clock = (): number => performance.now();

export type RequestRates = Pick<BucketOptions, 'requests_per_second' | 'requests_per_day'>;

export type ProviderSettings = Pick<
  TronGridOptions,
  'tron_url' | 'tron_api_key' | 'usdt_contract' | 'attempts_max'
> &
  Pick<BackoffOptions, 'backoff_ms_min' | 'backoff_ms_max'>;

export function openTronGrid(
  { tron_url, tron_api_key, usdt_contract, attempts_max, ...pauses }: ProviderSettings,
  { requests_per_second, requests_per_day }: RequestRates,
  {
    single_attempts_max,
    signal,
    onRequest,
  }: Pick<TronGridOptions, 'single_attempts_max' | 'signal' | 'onRequest'>,
): { readonly provider: TronGrid; readonly bucket: TokenBucket } {
  const bucket = new TokenBucket({ requests_per_second, requests_per_day, signal, now: clock });
  const { backoff_ms_min, backoff_ms_max } = pauses;
  const backoff = new Backoff({ backoff_ms_min, backoff_ms_max, now: clock, random: Math.random });
  const provider = new TronGrid({
    tron_url,
    tron_api_key,
    usdt_contract,
    attempts_max,
    single_attempts_max,
    signal,
    onRequest,
    bucket,
    backoff,
  });
  return { provider, bucket };
}
