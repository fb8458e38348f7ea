import { afterEach, expect, test, vi } from 'vitest';
import { BLOCK_DETAIL } from '../../../../../schemas/explorer-api/blocks.ts';
import { exampleOf } from '../../../../../schemas/http-api/answer.ts';
import {
  blockTransactions,
  readAccount,
  readChain,
} from '../../../../../services/console/src/api/chain.ts';

afterEach(() => vi.unstubAllGlobals());

/** The explorer gives this answer to a request of a path; the paths that were asked. */
function explorer(answer: (path: string) => object): readonly string[] {
  const asked: string[] = [];
  vi.stubGlobal('fetch', (url: string) => {
    const [path = ''] = url.replace('/api/v1/', '').split('?');
    asked.push(path);
    return Promise.resolve(Response.json(answer(path)));
  });
  return asked;
}

const { signal } = new AbortController();

test('the chain is answered with one request of each kind, however many blocks come in', async () => {
  let height = 100;
  // a block comes in before each answer
  const asked = explorer((path) => {
    height++;
    return path === 'blocks' ? { items: [{ height }] } : { items: [{ block_height: height }] };
  });
  const { blocks, transactions } = await readChain(signal);
  expect(asked.toSorted()).toEqual(['blocks', 'stats', 'transactions']);
  expect(blocks).toEqual([{ height: 103 }]);
  expect(transactions.every(({ block_height: at }) => at < 103)).toBe(true);
  expect(transactions).toHaveLength(1);
});

test('after a reorganisation to a lower height no transaction is above the newest block', async () => {
  const items = [{ block_height: 9 }, { block_height: 8 }, { block_height: 7 }];
  explorer((path) => ({ items: path === 'blocks' ? [{ height: 8 }] : items }));
  expect((await readChain(signal)).transactions).toEqual(items.slice(1));
});

test('the balance of an account and the height of its change are of one answer', async () => {
  const asked = explorer((path) =>
    path.endsWith('balance-history')
      ? {
          items: [
            { block_height: 7, balance: '300' },
            { block_height: 101, balance: '500' },
          ],
        }
      : // a reorganisation came in between
        { balance: '0', nonce: 3 },
  );
  const { is, newest } = await readAccount('accounts/0x1', signal);
  expect(newest).toEqual({ block_height: 101, balance: '500' });
  expect(is.nonce).toBe(3);
  expect(asked).toHaveLength(2);
});

test('an account that nothing ever changed has no height', async () => {
  explorer(() => ({ items: [] }));
  expect((await readAccount('accounts/0x1', signal)).newest).toBeUndefined();
});

const block = { ...Object(exampleOf(BLOCK_DETAIL)), height: 7, hash: '0xaa' };

test('transactions of a height are those of a block only while that block is there', async () => {
  const asked = explorer((path) => (path === 'transactions' ? { items: [{ hash: '0x1' }] } : {}));
  expect((await blockTransactions(block, 10, signal)).items).toEqual([{ hash: '0x1' }]);
  expect(asked).toEqual(['transactions', 'blocks/0xaa']);
});

test('a block that is replaced meanwhile is refused, with none of the transactions', async () => {
  vi.stubGlobal('fetch', (url: string) =>
    Promise.resolve(
      url.includes('/blocks/')
        ? Response.json({ code: 'not_found', message: 'no such block' }, { status: 404 })
        : Response.json({ items: [{ hash: '0x2' }] }),
    ),
  );
  await expect(blockTransactions(block, 10, signal)).rejects.toMatchObject({ status: 404 });
});
