import { beforeAll, expect, inject, test } from 'vitest';
import { settlePostgres, withClient } from '../../../../infra/postgres/databases.ts';

const stack = inject('stack');

beforeAll(() => settlePostgres(new URL(stack.postgres_url).host));

test('a transaction that a reader leaves idle ends', async () => {
  const { rows } = await withClient(stack.postgres_reader_url, (client) =>
    client.query('SHOW idle_in_transaction_session_timeout'),
  );
  expect(rows).toEqual([{ idle_in_transaction_session_timeout: '5min' }]);
});
