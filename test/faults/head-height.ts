/** How far a projection's tables are, asked while Postgres and its projector come and go. */
import { Client } from 'pg';
import { HANG_MS } from '../support/limits.ts';

/** Height of the newest block in the tables of this schema; undefined while they cannot be read. */
export async function heightIn(
  postgresUrl: string,
  schema: 'explorer' | 'ride_market' | 'series',
): Promise<number | undefined> {
  const client = new Client({
    connectionString: postgresUrl,
    connectionTimeoutMillis: HANG_MS,
    query_timeout: HANG_MS,
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ height: string }>(`SELECT height FROM ${schema}.head`);
    return rows[0] === undefined ? undefined : Number(rows[0].height);
  } catch {
    // away, or not there yet
    return undefined;
  } finally {
    await client.end().catch(() => undefined);
  }
}
