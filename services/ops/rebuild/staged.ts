/** Rebuilds and verifications under way, by the tables that they fill. */
import type { Staged } from '../../../schemas/operations-api/answers.ts';
import type { LogEnd } from '../../runtime/kafka/port.ts';
import type { Cells, Reader, Statement } from '../../runtime/postgres/pool.ts';

/** The holder of an advisory lock is in its session's name: `pid 12 on host, rebuild explorer`. */
const STAGED: Statement = {
  name: 'ops_staged',
  text: `SELECT p.beside, p.version, p.projection = p.beside || '_next', p.indexed_at IS NOT NULL, c.topic, c.partition, c.next_offset,
                (SELECT min(s.application_name) FROM pg_stat_activity s
                  WHERE s.datname = current_database() AND s.application_name LIKE 'pid % on %, '
                        || CASE WHEN p.projection = p.beside || '_next' THEN 'rebuild' ELSE 'verify' END || ' ' || p.beside)
           FROM projector.projections p
           LEFT JOIN projector.checkpoints c ON c.projection = p.projection AND c.version = p.version
          WHERE p.projection IN (p.beside || '_next', p.beside || '_verify')
          ORDER BY p.projection, c.topic, c.partition`,
  values: [],
};

export async function readStaged(
  reader: Reader,
  log: readonly LogEnd[] | null,
): Promise<readonly Staged[]> {
  const rows = await reader.rows(STAGED);
  return Map.groupBy(rows, ([projection, , isRebuild]) => `${projection} ${isRebuild}`)
    .values()
    .map((partitions) => stagedOf(partitions, log))
    .toArray();
}

function stagedOf(partitions: readonly Cells[], log: readonly LogEnd[] | null): Staged {
  const [[projection, version, isRebuild, isIndexed, , , , session] = []] = partitions;
  const records = partitions.reduce((sum, cells) => sum + BigInt(cells[6] ?? 0), 0n);
  const ends = partitions.map(([, , , , topic, partition]) =>
    log?.find((end) => end.topic === topic && end.partition === Number(partition)),
  );
  const records_all = ends.some((end) => end === undefined)
    ? null
    : ends.reduce((sum, end) => sum + (end?.high ?? 0n), 0n);
  const by = session?.split(',', 1)[0] ?? null;
  const isLoaded = records_all !== null && records >= records_all;
  const working = isIndexed === 't' ? 'catching_up' : isLoaded ? 'indexing' : 'loading';
  return {
    projection: projection ?? '',
    version: Number(version),
    task: isRebuild === 't' ? 'rebuild' : 'verify',
    state: by === null ? 'stopped' : working,
    by,
    records: String(records),
    records_all: records_all === null ? null : String(records_all),
  };
}
