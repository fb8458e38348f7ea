/**
 * Compares the accounts of the explorer's fold with those of the node, which keeps its state by
 * other means.
 */
import type { Pool } from 'pg';

/** Each account whose balance or nonce differs, as text. The chain must not grow meanwhile. */
export async function unlikeTheNode(
  pool: Pick<Pool, 'query'>,
  nodeUrl: string,
): Promise<readonly string[]> {
  const { rows } = await pool.query<{ address: string; balance: string; nonce: string }>(
    `SELECT '0x' || encode(address, 'hex') AS address, balance::text, nonce::text FROM explorer.accounts`,
  );
  if (rows.length === 0) return ['there are no accounts'];
  const unlike: string[] = [];
  for (const { address, balance, nonce } of rows) {
    const response = await fetch(`${nodeUrl}/v1/accounts/${address}`);
    const said: { readonly balance?: string; readonly nonce?: number } = JSON.parse(
      await response.text(),
    );
    if (said.balance !== balance || String(said.nonce) !== nonce)
      unlike.push(
        `account ${address}: the node says ${said.balance} and nonce ${said.nonce}, the table ${balance} and ${nonce}`,
      );
  }
  return unlike;
}
