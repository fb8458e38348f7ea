/** Columns that many tables have. The value of a row is at `key`. */
import type { ReactElement } from 'react';
import type { Judged } from '../api/finality.ts';
import { TEXT } from '../text.ts';
import { Age, Amount, BlockLink, Finality, type Column } from './parts.tsx';

type Row<Key extends string, Value> = Readonly<Record<Key, Value>>;

/** How amounts are shown, and the rest of their column. */
interface AmountOptions<Item> extends Omit<Column<Item>, 'name' | 'cell' | 'isNumber'> {
  readonly unit?: string;
  readonly isChange?: boolean;
}

export function amounts<Key extends string, Item extends Row<Key, string>>(
  name: string,
  key: Key,
  { unit, isChange = false, ...others }: AmountOptions<Item> = {},
): Column<Item> {
  const cell = (item: Item): ReactElement => <Amount of={item[key]} {...{ unit, isChange }} />;
  return { name, cell, isNumber: true, ...others };
}

/** Left out on a phone. */
export function ages<Key extends string>(name: string, key: Key): Column<Row<Key, string>> {
  return { name, cell: (item) => <Age of={item[key]} />, isNumber: true, isWide: true };
}

/** The block of each; left out on a phone. */
export const BLOCK: Column<Row<'block_height', number>> = {
  name: TEXT.transaction.block,
  cell: ({ block_height: height }) => <BlockLink height={height} />,
  isNumber: true,
  isWide: true,
};

/** Columns of things of the chain, and their finality: on a phone below the first of each row. */
export function withFinality<Item extends Row<'block_height', number>>(
  [first, ...others]: readonly [Column<Item>, ...Column<Item>[]],
  of: Judged,
): readonly Column<Item>[] {
  const state = ({ block_height: height }: Item): ReactElement => (
    <Finality {...{ height, of }} isShort />
  );
  const below = (item: Item): ReactElement => (
    <>
      {first.below?.(item)} {state(item)}
    </>
  );
  return [
    { name: first.name, cell: first.cell, below },
    { name: TEXT.finality.name, cell: state, isWide: true },
    ...others,
  ];
}
