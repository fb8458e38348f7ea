/** Pieces of what a simulated provider is asked, and answers. */
import { toTronAddress } from '../../../schemas/tron-address.ts';
import { readBalancesCall } from '../../../schemas/tron-balances.ts';
import { USDT_CONTRACT } from '../../support/deposit-log.ts';

export function noWords(count: number): bigint[] {
  return Array.from({ length: count }, () => 0n);
}

export function addressAt(index: number): Buffer {
  const address = Buffer.alloc(20, 0xaa);
  // spread over the partitions and over the order of the bytes
  address.writeUInt32BE(Math.imul(index + 1, 0x9e3779b1) >>> 0);
  address.writeUInt32BE(index, 16);
  return address;
}

export function balancesAsked(sent: Readonly<Record<string, string>>): readonly Buffer[] {
  const { data, parameter = '' } = sent;
  if (data === undefined) return [Buffer.from(parameter.slice(-40), 'hex')];
  return readBalancesCall(Buffer.from(data, 'hex'))?.addresses ?? [];
}

export function rowOf(txId: Buffer, at: number) {
  return {
    transaction_id: txId.toString('hex'),
    block_timestamp: at,
    token_info: { address: toTronAddress(USDT_CONTRACT) },
  };
}

export function wordOf(bytes: Buffer): string {
  return bytes.toString('hex').padStart(64, '0');
}
