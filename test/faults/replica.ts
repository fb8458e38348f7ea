/**
 * The fault run of a replica of Postgres that was away until its primary had removed log that it
 * needs: `ops status` has to name it, and a restart has to make it anew.
 */
import { withClient } from '../../infra/postgres/databases.ts';
import { startCommandCluster, type Ended } from '../support/command-cluster.ts';
import { rowsOf } from '../support/database.ts';
import { until } from '../support/until.ts';
import type { FaultReport, FaultRun } from './fault-run.ts';

const SEGMENT_BYTES = 16 * 2 ** 20;

export const replica: FaultRun<'switches'> = {
  about: 'a replica of Postgres that was away until its primary had removed log that it needs',
  options: {
    switches: { about: 'segments of log that the replica misses; 4 GB are kept', default: 270 },
  },
  run,
};

/** A replica whose primary has removed the log that it needs is made anew by the command. */
async function run({ switches }: { readonly switches: number }): Promise<FaultReport> {
  const cluster = await startCommandCluster(['--servers-only']);
  const command = (words: string): Promise<Ended> =>
    cluster.shell(`npx ops --stack .local/cluster/stack.json ${words}`);
  const primary = cluster.superuserUrl('postgres-1');
  const violations: string[] = [];
  const attention = async (): Promise<readonly string[]> => {
    // servers alone have no node
    const { printed } = await cluster.shell(
      'APP_NODE_URL=http://127.0.0.1:1 npx ops --stack .local/cluster/stack.json status --json 2>/dev/null || true',
    );
    const { attention: lines }: { readonly attention: readonly string[] } = JSON.parse(printed);
    return lines.filter((line) => line.startsWith('postgres:'));
  };
  const named: string[] = [];
  const untilNamed = (what: string, line: RegExp): Promise<void> =>
    until(attention, what, (lines) => {
      named.push(...lines.filter((each) => line.test(each)).slice(0, 1));
      return lines.some((each) => line.test(each));
    });
  try {
    await command('stop postgres-2');
    await untilNamed('the replica that is away', /no replica reads from slot postgres_2/);
    await withClient(primary, async (client) => {
      for (let at = 0; at < switches; at++)
        await client.query(`SELECT pg_logical_emit_message(false, 'drill', ''), pg_switch_wal()`);
      await client.query('CHECKPOINT');
      await client.query('CREATE TABLE public.drill AS SELECT 1 AS a');
    });
    await untilNamed('the replica that was away too long', /away too long/);
    const begun = performance.now();
    const { code, printed } = await command('restart postgres-2');
    if (code !== 0) violations.push(`ops restart postgres-2: ${printed}`);
    await until(
      () => rowsOf(cluster.superuserUrl('postgres-2'), 'SELECT a FROM public.drill'),
      'the replica to have what it missed',
      (rows) => rows.length === 1,
    );
    const seconds = Math.round((performance.now() - begun) / 1_000);
    await until(attention, 'the replica to follow', (lines) => lines.length === 0);
    const missed = Math.round((switches * SEGMENT_BYTES) / 2 ** 20);
    return {
      lines: [
        `replica away for ${missed} MB of log: ${[...new Set(named)].join('; ')}; copied anew by ops restart postgres-2, after ${seconds} s it had every row`,
      ],
      violations,
    };
  } finally {
    await cluster.stop();
  }
}
