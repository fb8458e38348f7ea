/** The tables of the series after three days of a seeded chain. */
import { series } from '../../../projections/series/series.ts';
import type { ChainEvent } from '../../../schemas/chain.blocks/events.ts';
import { withTimes } from '../../support/block-times.ts';
import { chainEvents } from '../../support/chain.ts';
import { applyStretch, openTables } from '../deposits/applied.ts';

const BEGIN = Date.UTC(2026, 2, 1);
const HOURS = 72;
const BLOCKS_AN_HOUR = 4;

/** Returns the log. */
export async function fillSeries(writerUrl: string): Promise<readonly ChainEvent[]> {
  const events = [
    ...chainEvents({ seed: 5, blocks: HOURS * BLOCKS_AN_HOUR, transactions_per_block: 6 }),
  ];
  const log = withTimes(events, ({ height }) => BEGIN + (height * 3_600_000) / BLOCKS_AN_HOUR);
  const pool = await openTables(writerUrl, series);
  await applyStretch(pool, series, { topic: 'chain.blocks', partition: 0, from: 0, events: log });
  await pool.end();
  return log;
}
