import { expect, test } from 'vitest';
import { encodeCursor } from '../../../../services/explorer-gateway/routes/responses.ts';
import { transactionsList } from '../../../../services/explorer-gateway/routes/parameters.ts';
import type { Cells, Reader, Statement } from '../../../../services/runtime/postgres/pool.ts';
import { openExplorer } from '../explorer-server.ts';

/** Nobody listens there. */
const NO_POSTGRES = 'postgres://clt_reader:clt_reader@127.0.0.1:1/clt';
const ADDRESS = '7e5f4552091a69125d5dfcb7b8c2659029395bdf';

interface Asking {
  readonly names: string[];
  readonly reader: Reader;
}

/** Notes the names of the questions; the address and the type have so many transactions. */
function asking(counts: Cells): Asking {
  const names: string[] = [];
  const rows = ({ name }: Statement): Promise<readonly Cells[]> => {
    names.push(name);
    return Promise.resolve(name === 'explorer_transaction_counts' ? [counts] : []);
  };
  return { names, reader: { rows } };
}

/** The names of the questions that a request for transactions asks. */
async function asked(query: string, counts: Cells = [null, null]): Promise<readonly string[]> {
  const { names, reader } = asking(counts);
  const explorer = await openExplorer({ postgres_reader_url: NO_POSTGRES, reader: () => reader });
  await explorer.get(`/api/v1/transactions?${query}`);
  await explorer.close();
  return names;
}

test('transactions of an address and a type are scanned by whichever has fewer', async () => {
  const query = `address=${ADDRESS}&type=Mint`;
  const [byAddress, byType] = [
    'explorer_transactions_address_type',
    'explorer_transactions_type_address',
  ];
  expect(await asked(query, ['10', '9'])).toEqual(['explorer_transaction_counts', byType]);
  expect(await asked(query, ['9', '10'])).toEqual(['explorer_transaction_counts', byAddress]);
  expect(await asked(query, ['9007199254740993', '9007199254740992'])).toEqual([
    'explorer_transaction_counts',
    byType,
  ]);
  expect(await asked(query, [null, '10'])).toEqual(['explorer_transaction_counts', byAddress]);
  expect(await asked(query, ['10', null])).toEqual(['explorer_transaction_counts', byType]);
});

test('a cursor continues its own scan without counting again', async () => {
  const filter = { block: undefined, address: Buffer.from(ADDRESS, 'hex'), type: 'Mint' };
  for (const [way, name] of [
    ['address', 'explorer_transactions_address_type_below'],
    ['type', 'explorer_transactions_type_address_below'],
  ] as const) {
    const cursor = encodeCursor(transactionsList(filter, way), 7n);
    expect(await asked(`address=${ADDRESS}&type=Mint&cursor=${cursor}`, ['5', '5'])).toEqual([
      name,
    ]);
  }
});

test('every other page is one query, and a status that is never stored needs none', async () => {
  expect(await asked('')).toEqual(['explorer_transactions']);
  expect(await asked(`address=${ADDRESS}`)).toEqual(['explorer_transactions_address']);
  expect(await asked('type=Mint')).toEqual(['explorer_transactions_type']);
  expect(await asked('block=5')).toEqual(['explorer_transactions_block']);
  expect(await asked(`block=5&address=${ADDRESS}&type=Mint&status=confirmed`)).toEqual([
    'explorer_transactions_block_address_type',
  ]);
  expect(await asked('status=pending')).toEqual([]);
  expect(await asked(`status=pending&address=${ADDRESS}&type=Mint`)).toEqual([]);
  expect(await asked('limit=0')).toEqual([]);
});
