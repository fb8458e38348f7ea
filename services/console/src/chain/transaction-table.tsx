import type { ReactElement } from 'react';
import type { Judged } from '../api/finality.ts';
import type { Transaction } from '../../../../schemas/explorer-api/transactions.ts';
import {
  AddressLink,
  Age,
  Amount,
  BlockLink,
  Table,
  Tag,
  TransactionLink,
  withFinality,
  type Column,
} from '../design/parts.tsx';
import { TEXT } from '../text.ts';

const TYPE: Column<Transaction> = {
  name: TEXT.transaction.type,
  cell: ({ function_call_type: functionCallType, is_ride_related: isRideRelated }) => (
    <Tag tone={isRideRelated ? 'accent' : 'plain'}>{functionCallType}</Tag>
  ),
  isWide: true,
};
const HASH: Column<Transaction> = {
  name: TEXT.transaction.hash,
  cell: ({ hash }) => <TransactionLink of={hash} isBare />,
  below: TYPE.cell,
};
const AMOUNT: Column<Transaction> = {
  name: TEXT.transaction.amount,
  cell: ({ amount }) => <Amount of={amount} />,
  below: ({ timestamp }) => <Age of={timestamp} />,
  isNumber: true,
};
const TIME: Column<Transaction> = {
  name: TEXT.transaction.time,
  cell: ({ timestamp }) => <Age of={timestamp} />,
  isNumber: true,
  isWide: true,
};

const REST: readonly Column<Transaction>[] = [
  {
    name: TEXT.transaction.block,
    cell: ({ block_height: blockHeight }) => <BlockLink height={blockHeight} />,
    isWide: true,
  },
  {
    name: TEXT.transaction.from,
    cell: ({ from }) => <AddressLink of={from} isBare />,
    isWide: true,
  },
  { name: TEXT.transaction.to, cell: ({ to }) => <AddressLink of={to} isBare />, isWide: true },
  AMOUNT,
  {
    name: TEXT.transaction.fee,
    cell: ({ fee }) => <Amount of={fee} />,
    isNumber: true,
    isWide: true,
  },
  TIME,
];

export function TransactionTable(props: {
  readonly transactions: readonly Transaction[];
  readonly of: Judged;
  readonly empty?: string;
}): ReactElement {
  return (
    <Table
      label={TEXT.transactions.title}
      items={props.transactions}
      keyOf={({ hash }) => hash}
      empty={props.empty ?? TEXT.states.empty}
      columns={withFinality([HASH, TYPE, ...REST], props.of, ({ block_height: height }) => height)}
    />
  );
}
