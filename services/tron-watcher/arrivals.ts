/**
 * Transfers that the treasury has found in custody and that the log lacks. Nothing of this is
 * believed: each is asked about as one that the provider lists.
 */
import { parseTronAddress } from '../../schemas/tron-address.ts';
import { list, parsed, text } from '../../schemas/json-reader.ts';
import { Fault, messageOf } from '../runtime/process/errors.ts';
import type { Found } from './watcher.ts';

const ANSWER_MS = 5_000;
const TX_ID = { pattern: /^[0-9a-f]{64}$/, expected: '64 hex digits' };
const ADDRESS = { pattern: /^T[1-9A-HJ-NP-Za-km-z]{33}$/, expected: 'an address of TRON' };

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
  const read = parsed(json, (answer) =>
    list(answer, 'arrivals', (item) => ({
      address: parseTronAddress(text(item, 'address', ADDRESS)),
      tx_id: Buffer.from(text(item, 'tron_tx_id', TX_ID), 'hex'),
    })),
  );
  if ('problem' in read) throw unread(read.problem);
  return read.value.flatMap(({ address, tx_id }) =>
    address === undefined ? [] : [{ address, tx_id }],
  );
}

function unread(why: string, cause?: unknown): Fault {
  return new Fault(
    'arrivals_unread',
    `the treasury does not say what it has found: ${why}; check APP_TREASURY_ARRIVALS_URL, it is asked again`,
    { retry: true, cause },
  );
}
