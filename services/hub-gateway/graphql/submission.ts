/** A signed transaction on its way to the node: the caller's own, for this chain, and no mint. */
import { toHex } from '../../../schemas/address.ts';
import { decodeRaw, parseRawText, recoverSigner } from '../../../schemas/raw-transaction.ts';
import type { Caller } from '../http/callers.ts';
import { Refused } from './errors.ts';

/** The bytes as the node takes them, 0x + hex. Throws a `Refused`. */
export function readSubmission(text: string, { account }: Caller, chainId: number): string {
  const bytes = parseRawText(text);
  if ('refused' in bytes) throw unreadable(bytes.refused);
  const decoded = decodeRaw(bytes.raw);
  if ('refused' in decoded) throw unreadable(decoded.refused);
  const { transaction } = decoded;
  if (transaction.chain_id !== chainId)
    throw new Refused('BAD_USER_INPUT', 'rawTransaction is signed for another chain');
  const signed = recoverSigner(transaction);
  if ('refused' in signed) throw unreadable(signed.refused);
  if (signed.signer !== account)
    throw new Refused('FORBIDDEN', 'rawTransaction is not signed by the key of your token');
  if (transaction.call.function_call_type === 'Mint')
    throw new Refused('FORBIDDEN', 'Mint is not sent through the hub');
  return toHex(bytes.raw);
}

function unreadable(reason: string): Refused {
  return new Refused(
    'BAD_USER_INPUT',
    `rawTransaction must be the hex of a signed transaction: ${reason}`,
  );
}
