/** A watcher inside the test, whose passes the test makes. */
import { parseTronAddress } from '../../../schemas/tron-address.ts';
import type { TransferEvent, TransferObserved } from '../../../schemas/tron.transfers/events.ts';
import { Backoff } from '../../../services/runtime/trongrid/backoff.ts';
import { TokenBucket } from '../../../services/runtime/trongrid/token-bucket.ts';
import { TronGrid, type Outcome } from '../../../services/runtime/trongrid/trongrid.ts';
import { TransferLog } from '../../../services/tron-watcher/transfer-log.ts';
import type { CrossCheckOutcome } from '../../../services/tron-watcher/comparison.ts';
import { Watcher, type WatcherOptions } from '../../../services/tron-watcher/watcher.ts';
import { never, silentLog } from '../../support/kafka.ts';
import { USDT } from '../../support/tron.ts';
import type { TronWorld } from '../../support/tron-world.ts';

export const ALL = [0, 1, 2, 3, 4, 5] as const;

export function addressBytes(base58: string): Buffer {
  const bytes = parseTronAddress(base58);
  if (bytes === undefined) throw new Error(`${base58} is no address`);
  return bytes;
}

const clock = (): number => performance.now();

export class Watching {
  /** as appended */
  readonly events: TransferEvent[] = [];
  readonly cross_checks: CrossCheckOutcome[] = [];
  readonly outcomes: Outcome[] = [];
  readonly provider: TronGrid;
  readonly watcher: Watcher;

  constructor(
    world: TronWorld,
    change: Partial<WatcherOptions> & { readonly requests_per_second?: number } = {},
  ) {
    const bucket = new TokenBucket({
      requests_per_second: change.requests_per_second ?? 5_000,
      requests_per_day: 0,
      now: clock,
      signal: never,
    });
    this.provider = new TronGrid({
      tron_url: world.devnet.tron_url,
      tron_api_key: '',
      usdt_contract: addressBytes(USDT),
      bucket,
      backoff: new Backoff({
        backoff_ms_min: 1,
        backoff_ms_max: 20,
        now: clock,
        random: Math.random,
      }),
      attempts_max: 3,
      single_attempts_max: 1,
      signal: never,
      onRequest: (_route, outcome) => void this.outcomes.push(outcome),
      // no provider of these tests hangs
      timeout: () => never,
    });
    this.watcher = new Watcher({
      provider: this.provider,
      model: world.model,
      transfers: new TransferLog({
        writer: world.writer,
        codec: world.codec,
        onAppended: (events) => void this.events.push(...events),
      }),
      usdt_contract: addressBytes(USDT),
      receipts_max: 1_000,
      pass_addresses_max: 50,
      pass_cold_min: 10,
      cold_every_ms: 0,
      overlap_ms: 60_000,
      cross_check_every: 0,
      balance_requests_max: 0,
      retry_ms_min: 0,
      retry_ms_max: 0,
      unexplained_ms: 0,
      cross_check_ms: 86_400_000,
      log: silentLog(),
      signal: never,
      now: Date.now,
      // a pass waits for all that it asks
      pause: () => new Promise(() => {}),
      onStep() {},
      onHeadAge() {},
      onCrossCheck: (outcome) => void this.cross_checks.push(outcome),
      ...change,
    });
  }

  pass(partitions: readonly number[] = ALL): Promise<number> {
    return this.watcher.pass(partitions);
  }

  get observed(): readonly TransferObserved[] {
    return this.events.filter((event) => event.type === 'TransferObserved');
  }

  /** The observed transfers as comparable text: recipient, amount, transaction and log index. */
  get payments(): readonly string[] {
    return this.observed.map(payment).toSorted();
  }

  /** The newest cursor said of an address. */
  until(address: Buffer): number | undefined {
    const checks = this.events.flatMap((event) =>
      event.type === 'AddressesChecked' ? event.checked : [],
    );
    return checks.findLast((checked) => checked.address.equals(address))?.until;
  }
}

export function payment({
  tx_id,
  log_index,
  to,
  value,
}: Pick<TransferObserved, 'tx_id' | 'log_index' | 'to' | 'value'>): string {
  return `${tx_id.toString('hex')}:${log_index} ${value} to ${to.toString('hex')}`;
}
