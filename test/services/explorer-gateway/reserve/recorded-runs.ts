/** Reserve runs in the tables of their projection. */
import { Client } from 'pg';
import { reserve } from '../../../../projections/reserve/reserve.ts';
import type { ReserveReconciled } from '../../../../schemas/reserve.runs/events.ts';
import { assert } from '../../../../services/runtime/process/errors.ts';
import { newCopyRows } from '../../../../services/runtime/postgres/copy-rows.ts';
import { prepareDatabase } from '../../../../services/projector/tables/migrations.ts';
import { writeChanges } from '../../../../services/projector/engine/table-writer.ts';

/** The first is a mismatch. */
export function run(at: number): ReserveReconciled {
  return {
    type: 'ReserveReconciled',
    run_id: `${at}:run`,
    run_at: 1_790_000_000_000 + at * 60_000,
    ledger_offset: at * 10,
    block_height: at,
    block_hash: Buffer.alloc(32, at),
    onchain_supply: (1n << 60n) + BigInt(at),
    genesis_allocation: 1n << 60n,
    treasury_minted: BigInt(at),
    burned: 0n,
    ledger_liability: BigInt(at) - 3n,
    custody_reported: 9_007_199_254_740_993n,
    held: 1n,
    retained_fees: 2n,
    minting: 0n,
    waiting: 0n,
    uncovered: 0n,
    booked_surplus: 0n,
    refunded: 0n,
    begun_at: 0,
    oldest_reading_at: 0,
    status: at === 0 ? 'mismatch' : 'ok',
  };
}

/** Creates the tables, as the projection writes them after these runs. */
export async function recordRuns(url: string, runs: readonly ReserveReconciled[]): Promise<void> {
  await prepareDatabase(url, reserve, { indexed: true });
  const client = new Client({ connectionString: url, options: '-c search_path=reserve' });
  await client.connect();
  try {
    const folded = reserve.fold(
      {},
      runs.map((event, at) => ({ event, partition: 0, offset: BigInt(at), timestamp: 0 })),
      newCopyRows,
    );
    assert('changes' in folded, 'the fold broke');
    await writeChanges(client, folded.changes);
  } finally {
    await client.end();
  }
}
