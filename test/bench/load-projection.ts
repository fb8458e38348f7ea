/** The explorer's tables from an empty database to live, by the projector as its own process. */
import { setTimeout as after } from 'node:timers/promises';
import { Pool } from 'pg';
import type { Stack } from '../support/stack.ts';
import { say } from './bench.ts';
import type { BenchDatabase } from './databases.ts';
import { processorSeconds, residentMemory, treeProcessorSeconds } from './process-figures.ts';

const POLL_MS = 50;
const SAMPLE_MS = 250;
const PROGRESS_MS = 10_000;

export interface Loaded {
  /** from the start of the process until everything is applied and the indexes stand */
  readonly seconds: number;
  /** of these, until the process has made its tables */
  readonly starting_seconds: number;
  /** of the process, in MiB, in order, at least four a second */
  readonly resident: readonly number[];
  /** seconds of processor time meanwhile */
  readonly processor: {
    readonly projector: number;
    readonly postgres: number;
    readonly kafka: number;
  };
}

/** `end` is the offset after the last record. Rejects when the projector ends or halts. */
export async function loadByProjector(
  stack: Stack,
  database: BenchDatabase,
  end: bigint,
): Promise<Loaded> {
  const pool = new Pool({ connectionString: database.writer_url, max: 1 });
  const { postgres, kafka } = stack.servers;
  const before = [postgres, kafka].map(({ pid = 0 }) => treeProcessorSeconds(pid));
  const begun = performance.now();
  const projector = await stack.spawnService('projector-explorer', {
    APP_POSTGRES_URL: database.writer_url,
    APP_LOG_LEVEL: 'warn',
  });
  let ended = false;
  const exit = projector.exit.then(() => (ended = true));
  const resident: number[] = [];
  let sampled = 0;
  let said = begun;
  let starting = 0;
  try {
    for (;;) {
      if (ended)
        throw new Error(`the projector ended before its tables were live:\n${projector.log()}`);
      const now = performance.now();
      if (now - sampled >= SAMPLE_MS) {
        resident.push(residentMemory(projector.pid));
        sampled = now;
      }
      const { next_offset: next, live, prepared } = await progressOf(pool);
      if (prepared && starting === 0) starting = (performance.now() - begun) / 1_000;
      if (next >= end && live) break;
      if (now - said >= PROGRESS_MS) {
        said = now;
        say(`${next} of ${end} records applied after ${((now - begun) / 1_000).toFixed(0)} s`);
        await complainIfHalted(projector.url);
      }
      await after(POLL_MS);
    }
    const seconds = (performance.now() - begun) / 1_000;
    const [ofPostgres = 0, ofKafka = 0] = [postgres, kafka].map(
      ({ pid = 0 }, at) => treeProcessorSeconds(pid) - (before[at] ?? 0),
    );
    const processor = {
      projector: processorSeconds(projector.pid),
      postgres: ofPostgres,
      kafka: ofKafka,
    };
    return { seconds, starting_seconds: starting, resident, processor };
  } finally {
    await pool.end();
    // in order, so that the next one need not wait until the group has forgotten this one
    await projector.kill('SIGTERM');
    await exit;
  }
}

/** SQLSTATE of a table and of a column that is not there. */
const NOT_THERE: ReadonlySet<unknown> = new Set(['42P01', '42703']);

interface Progress {
  readonly prepared: boolean;
  readonly next_offset: bigint;
  readonly live: boolean;
}

async function progressOf(pool: Pool): Promise<Progress> {
  try {
    const { rows } = await pool.query<{ next_offset: string | null; live: boolean }>(
      `SELECT c.next_offset, p.indexed_at IS NOT NULL AS live
         FROM projector.projections p LEFT JOIN projector.checkpoints c USING (projection, version) WHERE p.projection = 'explorer'`,
    );
    return {
      prepared: rows[0] !== undefined,
      next_offset: BigInt(rows[0]?.next_offset ?? 0),
      live: rows[0]?.live ?? false,
    };
  } catch (error) {
    // the projector has not come to its migrations yet
    if (error instanceof Error && 'code' in error && NOT_THERE.has(error.code))
      return { prepared: false, next_offset: 0n, live: false };
    throw error;
  }
}

async function complainIfHalted(url: string): Promise<void> {
  const response = await fetch(`${url}/ready`);
  const text = await response.text();
  if (text.includes('halted')) throw new Error(`the projector has halted: ${text}`);
}
