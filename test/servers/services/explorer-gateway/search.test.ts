/** The specification of the explorer: what search finds. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { plainAccount } from '../../../projections/explorer/plain-answers.ts';
import { seededBlocks } from '../../../projections/explorer/seeded-rows.ts';
import { rowsOf } from '../../../support/database.ts';
import {
  openIndexed,
  type IndexedExplorer,
} from '../../../services/explorer-gateway/explorer-server.ts';

const blocks = seededBlocks({ seed: 31, blocks: 40, transactions_max: 6, first_height: 3 });
const busy = blocks.find(({ transactions }) => transactions.length > 2) ?? blocks[0];
const single = blocks.find(({ transactions }) => transactions.length === 1) ?? blocks[0];
const transaction = busy?.transactions[1];
const account = transaction?.from ?? Buffer.alloc(20);
const unseen = '00000000000000000000000000000000000000ff';

let explorer: IndexedExplorer;
beforeAll(async () => {
  explorer = await openIndexed(blocks);
  await rowsOf(
    explorer.urls.writer_url,
    `INSERT INTO explorer.accounts VALUES ('\\x${'ab'.repeat(20)}', 0, 0, 1, 1, 0, 0), ('\\x${'cd'.repeat(20)}', 0, 0, 0, 0, 0, 1)`,
  );
});
afterAll(() => explorer.close());

async function found(q: string): Promise<unknown> {
  const { status, text } = await explorer.get(`/api/v1/search?q=${encodeURIComponent(q)}`);
  expect({ q, status }).toEqual({ q, status: 200 });
  const body: { readonly items: unknown } = JSON.parse(text);
  expect(Object.keys(body)).toEqual(['items']);
  return body.items;
}

function hex(bytes: Buffer | undefined): string {
  return `0x${bytes?.toString('hex')}`;
}

/** With and without 0x, in any case. */
function writings(digits: string): readonly string[] {
  return [digits, `0x${digits}`, digits.toUpperCase(), `0x${digits.toUpperCase()}`, `0X${digits}`];
}

function blockItem(identifier: string, block = busy): unknown {
  const count = block?.transactions.length;
  const time = new Date(block?.timestamp ?? 0).toISOString();
  return {
    kind: 'block',
    identifier,
    summary: `block ${block?.height}, ${hex(block?.hash)}: ${count} transaction${count === 1 ? '' : 's'}, produced by ${hex(block?.producer)} at ${time}`,
  };
}

describe('a plain integer', () => {
  test('is checked against block height', async () => {
    expect(await found(String(busy?.height))).toEqual([blockItem(String(busy?.height))]);
    expect(await found(`000${busy?.height}`)).toEqual([blockItem(String(busy?.height))]);
    expect(await found(String(single?.height))).toEqual([
      blockItem(String(single?.height), single),
    ]);
  });

  test('that is no indexed height finds nothing, at any size', async () => {
    for (const height of [
      '2',
      '43',
      '0',
      String(2n ** 53n),
      String(2n ** 63n),
      '9'.repeat(39),
      '9'.repeat(256),
    ]) {
      expect({ height, items: await found(height) }).toEqual({ height, items: [] });
    }
  });
});

describe('a hex value', () => {
  test('is checked against block hashes, with or without 0x, in any case', async () => {
    const digits = busy?.hash.toString('hex') ?? '';
    for (const q of writings(digits)) expect(await found(q)).toEqual([blockItem(`0x${digits}`)]);
  });

  test('is checked against transaction hashes, with or without 0x, in any case', async () => {
    const digits = transaction?.hash.toString('hex') ?? '';
    const time = new Date(transaction?.timestamp ?? 0).toISOString();
    const summary = `${transaction?.type} of ${transaction?.amount} from ${hex(transaction?.from)} to ${hex(transaction?.to)} in block ${transaction?.block_height} at ${time}`;
    for (const q of writings(digits))
      expect(await found(q)).toEqual([{ kind: 'transaction', identifier: `0x${digits}`, summary }]);
  });

  test('with 64 digits is a hash and never a height, decimals too', async () => {
    expect(await found(String(busy?.height).padStart(64, '0'))).toEqual([]);
    expect(await found('f'.repeat(64))).toEqual([]);
    expect(await found(String(busy?.height).padStart(63, '0'))).toEqual([
      blockItem(String(busy?.height)),
    ]);
  });
});

describe('a 40-hex value', () => {
  test('yields an account result with its indexed fields', async () => {
    const {
      tx_count,
      activity_count,
    }: { readonly tx_count: number; readonly activity_count: number } = JSON.parse(
      plainAccount(blocks, account),
    );
    const summary = `address with ${tx_count} transactions and ${activity_count} activities`;
    for (const q of writings(account.toString('hex')))
      expect(await found(q)).toEqual([{ kind: 'account', identifier: hex(account), summary }]);
    const few = [
      ['ab', '1 transaction and 1 activity'],
      ['cd', '0 transactions and 0 activities'],
    ] as const;
    for (const [digits, counts] of few) {
      const identifier = `0x${digits.repeat(20)}`;
      expect(await found(identifier)).toEqual([
        { kind: 'account', identifier, summary: `address with ${counts}` },
      ]);
    }
  });

  test('unknown to the index yields an account result that says so', async () => {
    for (const q of [...writings(unseen), '1'.repeat(40)]) {
      const identifier = q.length === 40 && q.startsWith('1') ? `0x${q}` : `0x${unseen}`;
      expect(await found(q)).toEqual([
        { kind: 'account', identifier, summary: 'address with no indexed activity' },
      ]);
    }
  });
});

test('only exact matches count, and anything else is an empty list', async () => {
  const digits = transaction?.hash.toString('hex') ?? '';
  const parts = [
    digits.slice(0, 63),
    `${digits}0`,
    digits.slice(2),
    `0x${digits.slice(0, 10)}`,
    ` ${digits}`,
    `${digits}\n`,
  ];
  const others = [
    'transfer',
    'RidePay',
    '%',
    '_',
    "'",
    "' OR 1=1 --",
    '-1',
    '+1',
    '1.0',
    '1e1',
    '0x5',
    '0x',
    ' ',
    ' 5',
    '5 ',
    '٥',
    'latest',
    '\0',
  ];
  const addresses = [
    `0x${'0'.repeat(39)}`,
    `${hex(account)}0`,
    `0x0x${'0'.repeat(40)}`,
    'g'.repeat(40),
  ];
  for (const q of [...parts, ...others, ...addresses, 'x'.repeat(256)])
    expect({ q, items: await found(q) }).toEqual({ q, items: [] });
});
