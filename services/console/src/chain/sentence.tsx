/** Transactions in sentences. */
import type { ReactElement } from 'react';
import type { Transaction } from '../../../../schemas/explorer-api/transactions.ts';
import { sentenceOf, type Part } from '../../../../schemas/explorer-api/words.ts';
import type { Judged } from '../api/finality.ts';
import { ages, withFinality } from '../design/columns.tsx';
import { AddressLink, Table, TransactionLink } from '../design/parts.tsx';
import { TEXT } from '../text.ts';
import { CHAIN } from './text.ts';

/** A sentence whose addresses are links. */
export function Said({ of }: { readonly of: readonly Part[] }): ReactElement {
  return (
    <>
      {of.map((part, at) =>
        typeof part === 'string' ? part : <AddressLink key={at} of={part.address} isBare />,
      )}
    </>
  );
}

export function SentenceTable(props: {
  readonly transactions: readonly Transaction[];
  readonly of: Judged;
}): ReactElement {
  return (
    <Table
      label={TEXT.nav.transactions}
      items={props.transactions}
      keyOf={({ hash }) => hash}
      empty={TEXT.states.empty}
      columns={withFinality<Transaction>(
        [
          { name: TEXT.transaction.hash, cell: ({ hash }) => <TransactionLink of={hash} isBare /> },
          {
            name: CHAIN.home.sentence,
            cell: (each) => (
              <span className="sentence">
                <Said of={sentenceOf(each)} />
              </span>
            ),
          },
          ages(TEXT.transaction.time, 'timestamp'),
        ],
        props.of,
      )}
    />
  );
}
