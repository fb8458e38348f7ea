/** The plan of a query, from EXPLAIN ANALYZE. */
import { Client } from 'pg';
import type { Query } from '../../../projections/contract/page.ts';
import { READER_OPTIONS } from '../../../services/runtime/postgres/pool.ts';

export const PLAN_CACHES = ['force_custom_plan', 'force_generic_plan'] as const;

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Rows Removed by Join Filter'?: number;
  readonly 'Rows Removed by Index Recheck'?: number;
  readonly Plans?: readonly PlanNode[];
}

export interface Scan {
  /** such as Index Scan */
  readonly how: string;
  readonly table: string;
  /** in all its loops */
  readonly rows: number;
  readonly loops: number;
}

export interface Explained {
  /** the kinds of all nodes */
  readonly nodes: readonly string[];
  /** of tables */
  readonly scans: readonly Scan[];
  /** rows that were read and then left out, in all */
  readonly removed: number;
}

function nodesOf(plan: PlanNode): readonly PlanNode[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];
}

function literal(value: Query['values'][number]): string {
  if (Buffer.isBuffer(value)) return `'\\x${value.toString('hex')}'`;
  return typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : String(value);
}

export async function explained(
  readerUrl: string,
  query: Query,
  planCache: (typeof PLAN_CACHES)[number],
): Promise<Explained> {
  const client = new Client({
    connectionString: readerUrl,
    options: `${READER_OPTIONS} -c plan_cache_mode=${planCache}`,
  });
  await client.connect();
  try {
    await client.query(`PREPARE "${query.name}" AS ${query.text}`);
    const values = query.values.length === 0 ? '' : `(${query.values.map(literal).join(', ')})`;
    const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
      `EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE "${query.name}"${values}`,
    );
    const plan = rows[0]?.['QUERY PLAN'][0].Plan;
    if (plan === undefined) throw new Error('no plan');
    return told(nodesOf(plan));
  } finally {
    await client.end();
  }
}

function told(nodes: readonly PlanNode[]): Explained {
  const scans = nodes.flatMap((node) => {
    const table = node['Relation Name'];
    const rows = Math.round(node['Actual Rows'] * node['Actual Loops']);
    return table === undefined
      ? []
      : [{ how: node['Node Type'], table, rows, loops: node['Actual Loops'] }];
  });
  const removed = nodes.reduce((sum, node) => sum + removedBy(node) * node['Actual Loops'], 0);
  return { nodes: nodes.map((node) => node['Node Type']), scans, removed };
}

function removedBy(node: PlanNode): number {
  return (
    (node['Rows Removed by Filter'] ?? 0) +
    (node['Rows Removed by Join Filter'] ?? 0) +
    (node['Rows Removed by Index Recheck'] ?? 0)
  );
}
