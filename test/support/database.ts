import { randomBytes } from 'node:crypto';
import type { Addresses } from '../../infra/local/addresses.ts';
import { createDatabase } from '../../infra/local/postgres.ts';

/** A database of its own for one test, with the roles' grants; it goes when the stack goes. */
export async function freshDatabase(
  addresses: Pick<Addresses, 'postgres_url'>,
): Promise<{ readonly writer_url: string; readonly reader_url: string }> {
  return await createDatabase(new URL(addresses.postgres_url).host, `t_${randomBytes(6).toString('hex')}`);
}
