/** Previews of links: rows of strangers in, HTML out. */
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { FUNCTION_CALL_TYPES } from '../../../schemas/function-call.ts';
import { headOf, PLAIN, PREVIEWED, previewOf } from '../../../services/explorer-gateway/preview.ts';
import type { Cells, Reader, Statement } from '../../../services/runtime/postgres/pool.ts';
import { Fault } from '../../../services/runtime/process/errors.ts';
import { anyCharacter } from '../../support/any-character.ts';

const bytes = (fill: string, length: number): string => `\\x${fill.repeat(length)}`;
const HASH = bytes('ab', 32);
const [RIDER, DRIVER] = [bytes('a1', 20), bytes('d2', 20)];
const AT = '2026-11-28 07:28:00.5+00';
const [BLOCKS, TRANSACTIONS, ACCOUNTS, RIDES, RUNS] = PREVIEWED;

function transaction(type: string, isFinal = 't'): Cells {
  return [HASH, '1234', RIDER, DRIVER, '27220000', '1000', type, 't', AT, isFinal];
}

const BLOCK: Cells = ['1234', HASH, '1', RIDER, RIDER, '0', AT, HASH, '0', 'f'];
const ACCOUNT: Cells = ['87500000', '8', '1', '21', 'f'];
const ROUTE = ['1', '2', '3', '4'];
const STEP = ['requested', HASH, '5', '1'];
const RIDE: Cells = [
  'completed',
  HASH,
  HASH,
  ...ROUTE,
  '27220000',
  '27220000',
  RIDER,
  DRIVER,
  ...STEP,
];
const NONE = ['0', '0', '0', '0', '0'];
const RUN: Cells = [
  '1042:1200',
  AT,
  '1042',
  '1200',
  HASH,
  '1',
  '1',
  '1',
  '0',
  '90000000',
  '91000000',
  '0',
  '0',
  'ok',
  AT,
  ...NONE,
  AT,
  '9',
  ...NONE.slice(1),
  '1000000',
  '7',
];

/** Answers with this row, and notes what it was asked. */
function readerOf(row: Cells | undefined): { readonly reader: Reader; readonly asked: string[] } {
  const asked: string[] = [];
  const rows = ({ name }: Statement): Promise<readonly Cells[]> => {
    asked.push(name);
    return Promise.resolve(row === undefined ? [] : [row]);
  };
  return { reader: { rows }, asked };
}

function preview(path = '', name = '', row?: Cells) {
  return previewOf(readerOf(row).reader, path, name);
}

const TIME = '2026-11-28T07:28:00.500Z';
const OPEN = { words: 'may still be replaced', tone: 'warn', is_final: false };

test('a block, a transaction, an account, a ride and a run are named and described', async () => {
  const hash = HASH.slice(2);
  expect(await preview(BLOCKS, '1234', BLOCK)).toEqual({
    title: 'Block 1,234',
    description: `Block 0x${hash} of 2026-11-28T07:28:00.500Z, with 1 transaction, made by 0xa1a1a1…a1a1a1. It may still be replaced.`,
    state: OPEN,
    at: TIME,
  });
  expect(await preview(TRANSACTIONS, hash, transaction('RidePay'))).toEqual({
    title: 'Ride payment of 27.22 CLT',
    description:
      'Passenger 0xa1a1a1…a1a1a1 paid 27.22 CLT to driver 0xd2d2d2…d2d2d2. In block 1,234. It is final.',
    state: { words: 'final', tone: 'good', is_final: true },
    at: TIME,
  });
  expect(await preview(ACCOUNTS, 'a1'.repeat(20), ACCOUNT)).toEqual({
    title: 'Account 0xa1a1a1…a1a1a1',
    description:
      'It has 87.50 CLT, after 1 transaction and 21 changes of its balance. As of the newest block, which may still be replaced.',
    state: OPEN,
  });
  expect(await preview(RIDES, hash, RIDE)).toEqual({
    title: 'Ride at 27.22 CLT: completed',
    description:
      'Passenger 0xa1a1a1…a1a1a1, driver 0xd2d2d2…d2d2d2; paid so far: 27.22 CLT. As of the newest block, which may still be replaced.',
    state: OPEN,
  });
  expect(await preview(RUNS, '1042:1200', RUN)).toEqual({
    title: 'Reserve run of 2026-11-28T07:28:00.500Z: no mismatch',
    description: 'Custody 91.00 USDT, liability 90.00 USDT, surplus 1.00 USDT, at block 1,200.',
    state: { words: 'no mismatch', tone: 'good', is_final: true },
    at: TIME,
  });
});

test('a run that custody does not cover says so, and a mismatch stays one', async () => {
  const uncovered = RUN.with(17, '5');
  const { title, state } = await preview(RUNS, '1042:1200', uncovered);
  expect(title).toContain(': not covered');
  expect(state?.tone).toBe('bad');
  const mismatch = await preview(RUNS, '1042:1200', uncovered.with(13, 'mismatch'));
  expect(mismatch.title).toContain(': mismatch');
});

test.each(FUNCTION_CALL_TYPES)('a %s that is not final says so', async (type) => {
  const { description } = await preview(TRANSACTIONS, HASH.slice(2), transaction(type, 'f'));
  expect(description).toContain('It may still be replaced.');
  expect(description).not.toContain('complete');
});

test('a name that is none costs no query, and one that nobody knows gets the plain preview', async () => {
  for (const [path = '', names] of [
    [BLOCKS, ['', 'x', '-1', '0x12', '1'.repeat(300), '1.5']],
    [TRANSACTIONS, ['', '12', 'zz'.repeat(32), `${'ab'.repeat(32)}0`, '%00']],
    [ACCOUNTS, ['', '0x12', 'ab'.repeat(32)]],
    [RIDES, ['', 'x', 'ab'.repeat(20)]],
    [RUNS, ['\0', 'x'.repeat(101)]],
  ] as const)
    for (const name of names) {
      const { reader, asked } = readerOf(transaction('Transfer'));
      expect([await previewOf(reader, path, name), asked]).toEqual([PLAIN, []]);
    }
  expect(await preview(TRANSACTIONS, HASH.slice(2))).toEqual(PLAIN);
});

test('while the read model is away, or does not answer, a page has the plain preview', async () => {
  const away = Promise.reject(new Fault('storage_down', 'Postgres is away', { retry: true }));
  const silent = Promise.withResolvers<never>().promise;
  for (const rows of [() => away, () => silent])
    expect(await previewOf({ rows }, BLOCKS ?? '', '1')).toEqual(PLAIN);
  const broken = Promise.reject(new TypeError('a bug'));
  const rows = (): Promise<never> => broken;
  await expect(previewOf({ rows }, BLOCKS ?? '', '1')).rejects.toThrow('a bug');
});

const TITLE = /^<title>[^<>&"']*<\/title>$/;
const META = /^<meta (?:name|property)="[a-z:_]+" content="[^<>&"']*" \/>$/;

test('no text that a stranger chooses becomes markup, or is unseen in it', () => {
  const markup = fc.constantFrom(
    '</title><script>',
    '"/><img src=x onerror=',
    "' onload='",
    '<!--',
    '-->',
    '&lt;',
    ']]>',
    '\0',
    '\n',
    '\ud800',
    '\u202e',
    '\u2028',
    '$&',
    "$'",
  );
  const text = fc.array(fc.oneof(markup, fc.string({ unit: anyCharacter, maxLength: 200 })), {
    maxLength: 5,
  });
  fc.assert(
    fc.property(text, text, (title, description) => {
      const lines = headOf({ title: title.join(''), description: description.join('') })
        // entities are the one way in which these characters stand in it
        .replaceAll(/&#\d+;/g, '')
        .split('\n')
        .map((line) => line.trim());
      expect(lines).toHaveLength(6);
      const [first = '', ...others] = lines;
      expect(first).toMatch(TITLE);
      for (const each of others) expect(each).toMatch(META);
      expect(lines.join('')).not.toMatch(/[\p{Cc}\p{Cf}\u2028\u2029]/u);
    }),
  );
});

test('a preview has a picture where the gateway knows its own address', async () => {
  const head = headOf(await preview(BLOCKS, '1', BLOCK), 'https://clt.example/preview/blocks/1');
  expect(head).toContain('<title>Block 1,234 · CLT</title>');
  expect(head).toContain(
    '<meta property="og:image" content="https://clt.example/preview/blocks/1" />',
  );
  expect(head).toContain('<meta property="og:image:width" content="1200" />');
  expect(head).toContain('<meta name="twitter:card" content="summary_large_image" />');
});

test('a type that its caller chose is in the preview, as text and no longer than a preview', async () => {
  const type = `<b onclick="x">${'y'.repeat(5_000)}`;
  const head = headOf(await preview(TRANSACTIONS, HASH.slice(2), transaction(type)));
  expect(head).toContain('<title>&#60;b onclick=&#34;x&#34;&#62;yyy');
  expect(head.length).toBeLessThan(1_500);
});
