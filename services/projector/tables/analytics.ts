/** Creates the schema `analytics`, and anew when this software defines it otherwise. */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Knex } from 'knex';
import { commentsOf, withViews } from './comments.ts';

export const ANALYTICS = 'analytics';
/** The earlier views, in which queries may still be running; dropped with the next change. */
const PREVIOUS = 'analytics_previous';
const DEFINITION = new URL('../../../projections/analytics.sql', import.meta.url);

/** In a transaction that keeps others from doing the same. */
export async function settleAnalytics(db: Knex.Transaction): Promise<void> {
  const sql = withViews(await readFile(DEFINITION, 'utf8'));
  const digest = createHash('sha256').update(sql).digest('hex').slice(0, 16);
  const about = `Views that stay the same while tables are exchanged: docs/analysts.md. Definition ${digest}.`;
  const { rows } = await db.raw<{ rows: { about: string | null }[] }>(
    "SELECT obj_description(oid, 'pg_namespace') AS about FROM pg_namespace WHERE nspname = ?",
    [ANALYTICS],
  );
  if (rows[0]?.about === about) return;
  await db.raw('DROP SCHEMA IF EXISTS ?? CASCADE', [PREVIOUS]);
  if (rows[0] !== undefined) await db.raw('ALTER SCHEMA ?? RENAME TO ??', [ANALYTICS, PREVIOUS]);
  await db.raw('CREATE SCHEMA ??', [ANALYTICS]);
  // the tables of some projections may be missing yet
  await db.raw('SET LOCAL check_function_bodies = off');
  await db.raw(`${sql}\n${commentsOf(sql)}`);
  await db.raw(`COMMENT ON SCHEMA ?? IS '${about}'`, [ANALYTICS]);
}
