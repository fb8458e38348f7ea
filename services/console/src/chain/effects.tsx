/** The balance effects of a block or a transaction, and the place of both in the log. */
import { useQuery } from '@tanstack/react-query';
import { useSearch } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import type { Effect } from '../../../../schemas/explorer-api/accounts.ts';
import type { BlockRecord } from '../../../../schemas/explorer-api/blocks.ts';
import { oneQuery, pageQuery } from '../api/explorer.ts';
import { amounts } from '../design/columns.tsx';
import { Pager } from '../design/pager.tsx';
import {
  AddressLink,
  Amount,
  Answer,
  AnswerPanel,
  Command,
  Table,
  type Named,
} from '../design/parts.tsx';
import { grouped } from '../format.ts';
import { TEXT } from '../text.ts';
import { CHAIN } from './text.ts';

const ROWS = 100;

/** `of`: such as `blocks/12`, in the explorer's interface. */
export function Effects(props: { readonly of: string; readonly empty: string }): ReactElement {
  const words = TEXT.effects;
  const { cursor } = useSearch({ strict: false });
  const effects = useQuery(pageQuery<Effect>(`${props.of}/effects`, { limit: ROWS, cursor }));
  return (
    <AnswerPanel title={words.title} of={effects}>
      {({ items, older }) => (
        <>
          <Table
            label={words.title}
            items={items}
            keyOf={({ address, kind }, index) => `${address} ${kind} ${index}`}
            empty={props.empty}
            columns={[
              {
                name: words.account,
                cell: ({ address }) => <AddressLink of={address} isBare />,
                below: ({ label }) => label,
              },
              { name: words.kind, cell: ({ label }) => label, isWide: true },
              amounts(words.change, 'delta', {
                isChange: true,
                below: ({ balance }: Effect) => (
                  <>
                    <span className="quiet">{CHAIN.afterwards}</span> <Amount of={balance} />
                  </>
                ),
              }),
              amounts(words.after, 'balance', { isWide: true }),
            ]}
          />
          <Pager cursor={cursor} older={older} first={words.first} next={words.more} />
        </>
      )}
    </AnswerPanel>
  );
}

/** For `Facts`, of a block by hash or height: its place in the log, and how to read the record. */
export function useLogPlace(block: string): readonly Named[] {
  const words = TEXT.log;
  const record = useQuery(oneQuery<BlockRecord>(`blocks/${block}/record`));
  return [
    [
      words.place,
      <Answer of={record}>
        {({ topic, partition, offset }) => words.at(topic, partition, grouped(offset))}
      </Answer>,
    ],
    [
      words.read,
      <Answer of={record}>
        {({ topic, offset }) => (
          <Command of={`npx ops tail ${topic} --from ${offset} --limit 1 --no-follow`} />
        )}
      </Answer>,
    ],
  ];
}
