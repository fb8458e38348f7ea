/** A real pooler between a service and Postgres. */
import { expect, inject, onTestFinished, test } from 'vitest';
import { openReader, openWriter } from '../../../../../services/runtime/postgres/pool.ts';
import { silentLog } from '../../../../support/kafka.ts';
import { openPgBouncer } from '../../../../support/pgbouncer.ts';
import { HANG_MS } from '../../../../support/limits.ts';

const { postgres_url, postgres_reader_url } = inject('stack');
const DROPPED = { ignore_startup_parameters: 'options,statement_timeout,lock_timeout' };

test.for([
  ['shares sessions and refuses their settings', { pool_mode: 'transaction' }],
  ['shares sessions and drops their settings', { pool_mode: 'transaction', ...DROPPED }],
  ['keeps sessions and drops their settings', { pool_mode: 'session', ...DROPPED }],
] as const)('a PgBouncer that %s is refused in words', async ([, settings], { skip }) => {
  const pooler = await openPgBouncer(postgres_url, settings);
  if ('missing' in pooler) {
    process.stderr.write(`tests of PgBouncer are skipped: ${pooler.missing}\n`);
    return skip(pooler.missing);
  }
  onTestFinished(() => pooler.stop());
  const reader = openReader(
    {
      postgres_reader_url: pooler.url(postgres_reader_url),
      statement_timeout_ms: HANG_MS,
      connections_max: 1,
    },
    'test',
    silentLog(),
  );
  onTestFinished(() => reader.close());
  const writer = openWriter(
    { postgres_url: pooler.url(postgres_url), application_name: 'test', schema: 'public' },
    silentLog(),
  );
  onTestFinished(() => writer.end());
  const read = reader.rows({ name: '', text: 'SELECT 1', values: [] });
  await expect(read).rejects.toMatchObject({
    code: 'storage_pooler',
    retry: true,
    message: expect.stringMatching(/pooler in session mode that passes the startup parameter/),
  });
  await expect(writer.query('SELECT 1')).rejects.toThrow(/options|startup parameter/);
});
