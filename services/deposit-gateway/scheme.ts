/**
 * Pins the key that deposit addresses are derived from: the first event of the log, for ever. The
 * log has the key's fingerprint alone. The gateway serves nothing before its key is the pinned one.
 * The read model shows the pinned one; where it has the whole log and shows none, the gateway
 * appends its own and reads again, since another gateway may have been first.
 */
import { toHex } from '../../schemas/address.ts';
import { SCHEME, type DepositKey } from '../../schemas/deposit-address.ts';
import type { Reader } from '../runtime/postgres/pool.ts';
import { ConfigError } from '../runtime/process/config.ts';
import { Fault } from '../runtime/process/errors.ts';
import { STARTING, waitingFor, type HealthProblem } from '../runtime/process/health.ts';
import type { Logger } from '../runtime/process/log.ts';
import { retrying, untilAborted } from '../runtime/process/retry.ts';
import { readBook, type AddressLog, type FoldedBook } from './address-log.ts';

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
  while (!signal.aborted) {
    const { end, fingerprint } = await retrying(retries, () => bookIn(reader));
    if (fingerprint !== undefined) return confirm(key, fingerprint);
    await addressLog.opened();
    onWait({
      status: 'waiting',
      phase: OPENING.phase,
      waits_for: 'projection:deposits',
      message: `deposit.addresses is folded up to ${end} of ${addressLog.end} records: see /ready of projector deposits`,
    });
    await addressLog.append([
      {
        type: 'SchemePinned',
        scheme: SCHEME,
        extended_public_key: '',
        fingerprint: key.fingerprint,
        pinned_at: now(),
      },
    ]);
    await untilAborted(POLL_MS, signal);
  }
}

/** Every fault is worth a retry: tables may be missing. */
function bookIn(reader: Reader): Promise<FoldedBook> {
  return readBook(reader).catch((error: unknown) => {
    throw error instanceof Fault
      ? new Fault(error.code, error.message, { retry: true, cause: error })
      : error;
  });
}

function confirm(key: DepositKey, pinned: Buffer): void {
  if (pinned.equals(key.fingerprint)) return;
  throw new ConfigError([
    `APP_DEPOSIT_XPUB is the key with fingerprint ${toHex(key.fingerprint)}, deposit.addresses is pinned to the one with fingerprint ${toHex(pinned)} for ever, and addresses of it may be in use: set that key, ` +
      'or correct APP_POSTGRES_READER_URL and APP_KAFKA_BROKERS if they name another system',
  ]);
}
