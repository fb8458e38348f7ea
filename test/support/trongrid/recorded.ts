/**
 * Recorded answers of TronGrid's mainnet: a row of a list (without fingerprint and links), and the
 * receipt of the same transaction, reduced to the fields that are read.
 */
import fs from 'node:fs';

function recorded(name: string): unknown {
  return JSON.parse(fs.readFileSync(new URL(name, import.meta.url), 'utf8'));
}

export const recordedList = (): unknown => recorded('trc20-mainnet.json');
export const recordedReceipt = (): unknown => recorded('receipt-mainnet.json');
