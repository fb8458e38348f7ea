/**
 * Reads the treasury's figures. It may answer badly, slowly, endlessly or not at all: reading ends
 * in time and in little memory, with figures or with the reason why there are none.
 */
import {
  parseReconciliation,
  type Reconciliation,
} from '../../../schemas/treasury-api/reconciliation.ts';

/** The time is for the whole response. */
export const TREASURY_LIMITS = { answer_ms: 5_000, body_bytes_max: 65_536 };

/** Why there are no figures: `unavailable` may be shown to anyone, `cause` is for the log. */
export interface Unavailable {
  readonly unavailable: string;
  readonly cause?: unknown;
}

/**
 * Asks once: follows no redirect, decompresses nothing, and stops reading a body that is too large.
 * Never throws for the treasury's behaviour.
 */
export async function askTreasury(
  url: string,
  limits = TREASURY_LIMITS,
): Promise<Reconciliation | Unavailable> {
  const text = await readTreasury(url, limits);
  if (typeof text !== 'string') return text;
  const parsed = parseReconciliation(text);
  return 'problem' in parsed
    ? unavailable(`answered something else than agreed: ${parsed.problem}`)
    : parsed.value;
}

async function readTreasury(
  url: string,
  { answer_ms: answerMs, body_bytes_max: bodyBytesMax }: typeof TREASURY_LIMITS,
): Promise<string | Unavailable> {
  const signal = AbortSignal.timeout(answerMs);
  let failing = 'cannot be reached';
  try {
    const response = await fetch(url, {
      redirect: 'manual',
      signal,
      headers: { accept: 'application/json', 'accept-encoding': 'identity' },
    });
    failing = 'broke off its answer';
    const objection = objectionTo(response);
    if (objection === undefined) return await textOf(response, bodyBytesMax);
    await response.body?.cancel();
    return unavailable(objection);
  } catch (error) {
    return unavailable(signal.aborted ? `did not answer within ${answerMs} ms` : failing, error);
  }
}

function objectionTo({ status, headers }: Response): string | undefined {
  if (status >= 300 && status < 400)
    return `answered with status ${status}, and redirects are not followed`;
  if (status !== 200) return `answered with status ${status}`;
  const encoding = headers.get('content-encoding') ?? 'identity';
  return encoding.toLowerCase() === 'identity'
    ? undefined
    : 'answered in an encoding that was not asked for';
}

async function textOf({ body }: Response, bytesMax: number): Promise<string | Unavailable> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > bytesMax) return unavailable(`answered more than ${bytesMax} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function unavailable(what: string, cause?: unknown): Unavailable {
  return { unavailable: `the treasury ${what}`, ...(cause === undefined ? {} : { cause }) };
}
