/**
 * Transfers that the treasury has found in custody and that the log lacks. Nothing of this is
 * believed: each is asked about as one that the provider lists.
 */
import { isArrivals } from '../../schemas/treasury-api/arrivals.ts';
import { parseTronAddress } from '../../schemas/tron-address.ts';
import { Fault, messageOf } from '../runtime/process/errors.ts';
import type { Found } from './watcher.ts';

const ANSWER_MS = 5_000;

/** Throws a `Fault` with retry. */
export async function readArrivals(url: string, signal: AbortSignal): Promise<readonly Found[]> {
  let json: unknown;
  try {
    const timeout = AbortSignal.timeout(ANSWER_MS);
    const response = await fetch(url, { signal: AbortSignal.any([signal, timeout]) });
    if (!response.ok) throw new Error(`it answered ${response.status}`);
    json = await response.json();
  } catch (cause) {
    throw unread(messageOf(cause), cause);
  }
  if (!isArrivals(json)) throw unread('it answered something else than agreed');
  return json.arrivals.flatMap(({ address: text, tron_tx_id: tronTxId }) => {
    const address = parseTronAddress(text);
    return address === undefined ? [] : [{ address, tx_id: Buffer.from(tronTxId, 'hex') }];
  });
}

function unread(why: string, cause?: unknown): Fault {
  return new Fault(
    'arrivals_unread',
    `the treasury does not say what it has found: ${why}; check APP_TREASURY_ARRIVALS_URL, it is asked again`,
    { retry: true, cause },
  );
}
