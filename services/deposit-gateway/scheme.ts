/**
 * Pins the key that deposit addresses are derived from: the first event of the log, for ever. The
 * log has the key's fingerprint alone. The gateway shows no address before its key is the pinned
 * one. Where none is pinned it appends its own; another gateway may be first.
 */
import { toHex } from '../../schemas/address.ts';
import { SCHEME, type DepositKey } from '../../schemas/deposit-address.ts';
import { ConfigError } from '../runtime/process/config.ts';
import type { AddressLog } from './address-log.ts';

export interface PinningOptions {
  readonly key: DepositKey;
  readonly address_log: Pick<AddressLog, 'append' | 'fingerprint' | 'opened'>;
  /** Unix milliseconds */
  readonly now: () => number;
}

/** Resolves once the key is pinned. Throws a `ConfigError` when another one is. */
export async function pinScheme({
  key,
  address_log: addressLog,
  now,
}: PinningOptions): Promise<void> {
  await addressLog.opened();
  if (addressLog.fingerprint === undefined)
    await addressLog.append([
      {
        type: 'SchemePinned',
        scheme: SCHEME,
        extended_public_key: '',
        fingerprint: key.fingerprint,
        pinned_at: now(),
      },
    ]);
  const { fingerprint: pinned = key.fingerprint } = addressLog;
  if (pinned.equals(key.fingerprint)) return;
  throw new ConfigError([
    `APP_DEPOSIT_XPUB is the key with fingerprint ${toHex(key.fingerprint)}, deposit.addresses is pinned to the one with fingerprint ${toHex(pinned)} for ever, and addresses of it may be in use: set that key, ` +
      'or correct APP_KAFKA_BROKERS if it names another system',
  ]);
}
