import { expect, test } from 'vitest';
import { misnamed } from './naming-rule.ts';

test('data in camelCase is refused, also of a class and of a getter', () => {
  const source = [
    'interface Block {',
    '  readonly blockHeight: number;',
    '}',
    'class Book {',
    '  isRead = false;',
    '  get nextOffset() { return 1n; }',
    '}',
  ].join('\n');
  expect(misnamed(source)).toEqual(['2: blockHeight', '5: isRead', '6: nextOffset']);
});

test('code in snake_case is refused', () => {
  const source = [
    'interface Options {',
    '  readonly on_block: (height: number) => void;',
    '  next_block(): void;',
    '}',
    'function read_all() {}',
    'class Book { #is_read = false; }',
  ].join('\n');
  expect(misnamed(source)).toEqual(['2: on_block', '3: next_block', '5: read_all', '6: #is_read']);
});

test('a destructured datum under another word is refused', () => {
  const source = 'const { next_offset: at, clt_address: cltAddress, tx_id: _unused } = entry;';
  expect(misnamed(source)).toEqual(['1: next_offset: at']);
});

test('callbacks, private members, locals and names of outside formats pass', () => {
  const source = [
    'interface Options {',
    '  readonly onBlock: Listener;',
    '  readonly readNext: (() => void) | undefined;',
    '  readonly logicalType: string;',
    '}',
    'class Book {',
    '  readonly #nextOffset = 0n;',
    '  readonly readNext = () => undefined;',
    '}',
    'const lastBlock = { blockHeight: 1 };',
  ].join('\n');
  expect(misnamed(source)).toEqual([]);
});
