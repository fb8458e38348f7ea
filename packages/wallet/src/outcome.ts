/** Waits until the explorer shows what became of a transaction. */
import { parseJson, readObject } from './json.ts';
import type { SignedTransaction } from './transaction.ts';

/**
 * included: a block holds the transaction, but the chain may still replace that block. final: no
 * more. replaced: another transaction of the account has used the nonce, finally.
 */
export type Outcome =
  | { readonly outcome: 'included' | 'final'; readonly blockHeight: number }
  | { readonly outcome: 'replaced' };

export interface Waiting {
  /** where waiting ends if all goes well; 'included' unless given */
  readonly until?: 'included' | 'final';
  /** ends the waiting, for example `AbortSignal.timeout(120_000)` */
  readonly signal?: AbortSignal;
  /** between two questions; 1000 unless given */
  readonly pollMs?: number;
}

/**
 * Asks the explorer, for example https://explorer.example, until it knows the outcome. An explorer
 * that gives no useful answer is asked again. Waits for ever without `signal`: a transaction that
 * the node has lost stays without an outcome, and its bytes may be sent again.
 */
export async function waitForOutcome(
  explorer: string,
  { hash, from, nonce }: Pick<SignedTransaction, 'hash' | 'from' | 'nonce'>,
  { until = 'included', signal, pollMs = 1_000 }: Waiting = {},
): Promise<Outcome> {
  // an address of its own for each question: a CDN may answer others as it did 5 s ago
  const read = (path: string): Promise<Reading> =>
    readJson(`${explorer}/api/v1/${path}?fresh=${Math.random()}`, signal);
  let isReplaced = false;
  /** height of the index once another transaction had used the nonce */
  let replacedAt: number | undefined;
  for (;;) {
    // in this order: a later reading is of the same index or a newer one
    const status = await read('status');
    const account = await read(`accounts/${from}`);
    const transaction = await read(`transactions/${hash}`);
    const indexed = readObject(status.body?.['indexed']);
    const finalHeight = Number(indexed?.['finalized_height'] ?? -1);
    const nextNonce = account.isAbsent ? 0 : account.body?.['nonce'];
    if (transaction.body !== undefined) {
      isReplaced = false;
      const blockHeight = Number(transaction.body['block_height']);
      if (blockHeight <= finalHeight) return { outcome: 'final', blockHeight };
      if (until === 'included') return { outcome: 'included', blockHeight };
    } else if (transaction.isAbsent && nextNonce !== undefined) {
      replacedAt = isReplaced ? (replacedAt ?? Number(indexed?.['height'] ?? Infinity)) : undefined;
      isReplaced = Number(nextNonce) > nonce;
      if (isReplaced && replacedAt !== undefined && replacedAt <= finalHeight)
        return { outcome: 'replaced' };
    }
    await delay(pollMs, signal);
  }
}

interface Reading {
  readonly body?: Readonly<Record<string, unknown>>;
  /** the explorer knows nothing of this name */
  readonly isAbsent: boolean;
}

async function readJson(url: string, signal: AbortSignal | undefined): Promise<Reading> {
  signal?.throwIfAborted();
  try {
    const response = await fetch(url, { cache: 'no-store', ...(signal && { signal }) });
    const body = readObject(parseJson(await response.text()));
    const isAbsent = response.status === 404 && body?.['code'] === 'not_found';
    return response.ok && body !== undefined ? { body, isAbsent } : { isAbsent };
  } catch {
    // without a connection it is asked again
    signal?.throwIfAborted();
    return { isAbsent: false };
  }
}

function delay(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      if (signal?.aborted === true) reject(signal.reason);
      else resolve();
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener('abort', end);
  });
}
