import express from 'express';
import { expect, test } from 'vitest';
import { explorerRoutes } from '../../../services/explorer-gateway/routes.ts';
import type { Cells, Reader, Statement } from '../../../services/runtime/postgres.ts';

const ADDRESS = '7e5f4552091a69125d5dfcb7b8c2659029395bdf';

/** The names of the questions that a request for transactions asks, when the address and the type have so many. */
async function asked(query: string, counts: Cells = [null, null]): Promise<readonly string[]> {
  const names: string[] = [];
  const reader: Reader = {
    rows: ({ name }: Statement) => {
      names.push(name);
      return Promise.resolve(name === 'explorer_transaction_counts' ? [counts] : []);
    },
  };
  const route = explorerRoutes(reader).find(({ path }) => path === '/api/v1/transactions');
  const app = express().set('query parser', 'simple');
  app.get('/', async (request, response) => {
    await route?.handle(request);
    response.end();
  });
  const server = app.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const address = server.address();
  await fetch(`http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/?${query}`);
  server.close();
  return names;
}

test('an address and a type are looked for along whichever has fewer transactions', async () => {
  const query = `address=${ADDRESS}&type=Mint`;
  const [byAddress, byType] = ['explorer_transactions_address_type', 'explorer_transactions_type_address'];
  expect(await asked(query, ['10', '9'])).toEqual(['explorer_transaction_counts', byType]);
  expect(await asked(query, ['9', '10'])).toEqual(['explorer_transaction_counts', byAddress]);
  expect(await asked(query, ['9007199254740993', '9007199254740992'])).toEqual(['explorer_transaction_counts', byType]);
  expect(await asked(query, [null, '10'])).toEqual(['explorer_transaction_counts', byAddress]);
  expect(await asked(query, ['10', null])).toEqual(['explorer_transaction_counts', byType]);
});

test('every other page is one question, and a status that is never stored is none', async () => {
  expect(await asked('')).toEqual(['explorer_transactions']);
  expect(await asked(`address=${ADDRESS}`)).toEqual(['explorer_transactions_address']);
  expect(await asked('type=Mint')).toEqual(['explorer_transactions_type']);
  expect(await asked('block=5')).toEqual(['explorer_transactions_block']);
  expect(await asked(`block=5&address=${ADDRESS}&type=Mint&status=confirmed`)).toEqual(['explorer_transactions_block_address_type']);
  expect(await asked('status=pending')).toEqual([]);
  expect(await asked('limit=0')).toEqual([]);
});
