/**
 * Pins the key that deposit addresses are derived from: the first event of the log, for ever. The
 * gateway serves nothing before its key is the pinned one. The read model shows the pinned key; if
 * it has the whole log and shows none, the gateway appends its own key and reads again, since
 * another gateway may have been first.
 */
import { addressBook } from '../../projections/deposits/queries.ts';
import { readDepositKey, SCHEME, type DepositKey } from '../../schemas/deposit-address.ts';
import type { Reader } from '../runtime/postgres/pool.ts';
import { ConfigError } from '../runtime/process/config.ts';
import { Bug, Fault } from '../runtime/process/errors.ts';
import { STARTING, waitingFor, type HealthProblem } from '../runtime/process/health.ts';
import type { Logger } from '../runtime/process/log.ts';
import { retrying, untilAborted } from '../runtime/process/retry.ts';
import type { AddressLog } from './address-log.ts';

const POLL_MS = 100;
const OPENING = { phase: 'opening', projection: 'deposits' };

export interface PinningOptions {
  readonly key: DepositKey;
  readonly reader: Reader;
  readonly address_log: Pick<AddressLog, 'append' | 'end' | 'opened'>;
  /** Unix milliseconds */
  readonly now: () => number;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** called with the reason why the key is not confirmed yet */
  readonly onWait: (problem: HealthProblem) => void;
}

/** Resolves once the key is pinned, or on shutdown. Throws a `ConfigError` when another one is. */
export async function pinScheme(options: PinningOptions): Promise<void> {
  const { key, reader, address_log: addressLog, now, log, signal, onWait } = options;
  const onFault = (fault: Fault | undefined): void =>
    onWait(fault === undefined ? STARTING : waitingFor(fault, OPENING));
  const retries = { log, signal, onFault, what: 'looking which key is pinned' };
  let appendedAt: bigint | undefined;
  while (!signal.aborted) {
    const { end, pinned } = await retrying(retries, () => readBook(reader));
    if (pinned !== undefined) return confirm(key, pinned);
    if (appendedAt !== undefined && end > appendedAt)
      throw new Bug('the key was pinned and folded, and none is pinned');
    await addressLog.opened();
    const logEnd = await retrying(retries, () => addressLog.end());
    if (end === logEnd) {
      const event = {
        type: 'SchemePinned',
        scheme: SCHEME,
        extended_public_key: key.extended_public_key,
        pinned_at: now(),
      } as const;
      appendedAt = await addressLog.append([event]);
      log.info(
        { fingerprint: key.fingerprint, offset: appendedAt },
        'pinned the key that deposit addresses are derived from',
      );
    }
    onWait({
      status: 'waiting',
      phase: OPENING.phase,
      waits_for: 'projection:deposits',
      message: `deposit.addresses is folded up to ${end} of ${logEnd} records: see /ready of projector deposits`,
    });
    await untilAborted(POLL_MS, signal);
  }
}

/** Every fault is worth a retry: tables may be missing. `end`: the log is folded up to there. */
async function readBook(reader: Reader): Promise<{ end: bigint; pinned: string | undefined }> {
  const rows = await reader.rows(addressBook()).catch((error: unknown) => {
    throw error instanceof Fault
      ? new Fault(error.code, error.message, { retry: true, cause: error })
      : error;
  });
  const [[end, pinned] = []] = rows;
  return { end: BigInt(end ?? '0'), pinned: pinned ?? undefined };
}

function confirm(key: DepositKey, pinned: string): void {
  if (pinned === key.extended_public_key) return;
  const read = readDepositKey(pinned);
  const other = 'key' in read ? `the one with fingerprint ${read.key.fingerprint}` : 'another one';
  throw new ConfigError([
    `APP_DEPOSIT_XPUB is the key with fingerprint ${key.fingerprint}, deposit.addresses is pinned to ${other} for ever, and addresses of it may be in use: set that key, ` +
      'or correct APP_POSTGRES_READER_URL and APP_KAFKA_BROKERS if they name another system',
  ]);
}
