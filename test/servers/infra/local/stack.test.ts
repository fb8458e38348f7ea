import { Client } from 'pg';
import { expect, inject, test } from 'vitest';
import { freshDatabase } from '../../../support/database.ts';

test('a fresh database lets the writer create and the reader only read', async () => {
  const database = await freshDatabase(inject('stack'));
  const writer = new Client({ connectionString: database.writer_url });
  const reader = new Client({ connectionString: database.reader_url });
  await Promise.all([writer.connect(), reader.connect()]);
  try {
    await writer.query(
      'CREATE SCHEMA explorer_v1; CREATE TABLE explorer_v1.t (a int); INSERT INTO explorer_v1.t VALUES (7); CREATE TABLE public.c (a int)',
    );
    const read = await reader.query('SELECT a FROM explorer_v1.t');
    expect(read.rows).toEqual([{ a: 7 }]);
    await reader.query('SET default_transaction_read_only = off');
    await expect(reader.query('INSERT INTO explorer_v1.t VALUES (8)')).rejects.toThrow(
      'permission denied',
    );
    await expect(reader.query('CREATE TABLE public.mine (a int)')).rejects.toThrow(
      'permission denied',
    );
    await expect(reader.query('CREATE TEMP TABLE mine (a int)')).rejects.toThrow(
      'permission denied',
    );
  } finally {
    await Promise.all([writer.end(), reader.end()]);
  }
});
