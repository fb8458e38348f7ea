import type { ReactElement } from 'react';
import type { Judged } from '../api/finality.ts';
import type { Transaction } from '../../../../schemas/explorer-api/transactions.ts';
import { ages, amounts, BLOCK, withFinality } from '../design/columns.tsx';
import { AddressLink, Age, Table, Tag, TransactionLink, type Column } from '../design/parts.tsx';
import { TEXT } from '../text.ts';

const words = TEXT.transaction;

const TYPE: Column<Transaction> = {
  name: words.type,
  cell: ({ function_call_type: functionCallType, is_ride_related: isRideRelated }) => (
    <Tag tone={isRideRelated ? 'accent' : 'plain'}>{functionCallType}</Tag>
  ),
  isWide: true,
};
const HASH: Column<Transaction> = {
  name: words.hash,
  cell: ({ hash }) => <TransactionLink of={hash} isBare />,
  below: TYPE.cell,
};

const REST: readonly Column<Transaction>[] = [
  { ...BLOCK, isNumber: false },
  { name: words.from, cell: ({ from }) => <AddressLink of={from} isBare />, isWide: true },
  { name: words.to, cell: ({ to }) => <AddressLink of={to} isBare />, isWide: true },
  amounts(words.amount, 'amount', {
    below: ({ timestamp }: Transaction) => <Age of={timestamp} />,
  }),
  amounts(words.fee, 'fee', { isWide: true }),
  ages(words.time, 'timestamp'),
];

export function TransactionTable(props: {
  readonly transactions: readonly Transaction[];
  readonly of: Judged;
  readonly empty: string;
}): ReactElement {
  return (
    <Table
      label={TEXT.nav.transactions}
      items={props.transactions}
      keyOf={({ hash }) => hash}
      empty={props.empty}
      columns={withFinality([HASH, TYPE, ...REST], props.of)}
    />
  );
}
