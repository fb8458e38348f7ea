import { afterEach, expect, test, vi } from 'vitest';
import { readAccount, readChain } from '../../../../../services/console/src/api/chain.ts';

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

test.each([
  ['before the balance', 1],
  ['after the balance', 2],
])(
  'an account that a reorganisation changes %s has the height of the later change',
  async (_, at) => {
    const asked = explorer((path) => {
      const isReplaced = asked.length > at;
      return path.endsWith('activity')
        ? { items: [{ block_height: isReplaced ? 90 : 101 }] }
        : { balance: isReplaced ? '0' : '500' };
    });
    expect((await readAccount('accounts/0x1', signal)).changed_at).toBe(101);
  },
);

test('an account that nothing ever changed has height 0', async () => {
  explorer(() => ({ items: [] }));
  expect((await readAccount('accounts/0x1', signal)).changed_at).toBe(0);
});
