/** Answers of TronGrid's mainnet, recorded: one row of a list (its fingerprint and links left out), and the same transaction's receipt, reduced to what matters. */
import fs from 'node:fs';

function recorded(name: string): unknown {
  return JSON.parse(fs.readFileSync(new URL(name, import.meta.url), 'utf8'));
}

export const recordedList = (): unknown => recorded('trc20-mainnet.json');
export const recordedReceipt = (): unknown => recorded('receipt-mainnet.json');
