import { expect, test } from 'vitest';
import { search } from '../../../../services/explorer-gateway/routes/search.ts';
import type { Reader, Statement } from '../../../../services/runtime/postgres/pool.ts';

/** The names of the questions that a search asks of an empty index, and what it says. */
async function searched(
  q: string,
): Promise<{ readonly questions: readonly string[]; readonly found: readonly unknown[] }> {
  const questions: string[] = [];
  const reader: Reader = {
    rows: ({ name }: Statement) => {
      questions.push(name ?? '');
      return Promise.resolve([]);
    },
  };
  const found = await search(reader, q);
  return { questions, found };
}

test.each([
  ['5', ['explorer_block_by_height']],
  ['0'.repeat(63), ['explorer_block_by_height']],
  ['0'.repeat(64), ['explorer_block_by_hash', 'explorer_transaction']],
  [`0x${'f'.repeat(64)}`, ['explorer_block_by_hash', 'explorer_transaction']],
  [`0x${'f'.repeat(40)}`, ['explorer_account']],
  ['f'.repeat(40), ['explorer_account']],
  ['1'.repeat(40), ['explorer_block_by_height', 'explorer_account']],
  ['anything else', []],
])('%s runs exactly these queries: %j', async (q, questions) =>
  expect((await searched(q)).questions).toEqual(questions),
);

test('an empty index finds only an address, without indexed activity', async () => {
  for (const q of ['5', '0'.repeat(64), 'anything else'])
    expect((await searched(q)).found).toEqual([]);
  expect((await searched(`0X${'AB'.repeat(20)}`)).found).toEqual([
    {
      kind: 'account',
      identifier: `0x${'ab'.repeat(20)}`,
      summary: 'address with no indexed activity',
    },
  ]);
});
