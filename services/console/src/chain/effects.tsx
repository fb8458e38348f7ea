/** The balance effects of a block or a transaction, and the place of both in the log. */
import { useQuery } from '@tanstack/react-query';
import { useSearch } from '@tanstack/react-router';
import type { ReactElement, ReactNode } from 'react';
import type { Effect } from '../../../../schemas/explorer-api/accounts.ts';
import type { BlockRecord } from '../../../../schemas/explorer-api/blocks.ts';
import { one, page } from '../api/explorer.ts';
import { Pager } from '../design/pager.tsx';
import { AddressLink, Amount, Answer, Command, Panel, Table } from '../design/parts.tsx';
import { grouped } from '../format.ts';
import { TEXT } from '../text.ts';
import { CHAIN } from './text.ts';

const ROWS = 100;

/** `of`: such as `blocks/12`, in the explorer's interface. */
export function Effects(props: { readonly of: string; readonly empty: string }): ReactElement {
  const words = TEXT.effects;
  const { cursor } = useSearch({ strict: false });
  const effects = useQuery({
    queryKey: ['effects', props.of, cursor],
    queryFn: ({ signal }) => page<Effect>(`${props.of}/effects`, signal, { limit: ROWS, cursor }),
  });
  return (
    <Panel title={words.title}>
      <Answer of={effects}>
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
                {
                  name: words.change,
                  cell: ({ delta }) => <Amount of={delta} isChange />,
                  below: ({ balance }) => (
                    <>
                      <span className="quiet">{CHAIN.afterwards}</span> <Amount of={balance} />
                    </>
                  ),
                  isNumber: true,
                },
                {
                  name: words.after,
                  cell: ({ balance }) => <Amount of={balance} />,
                  isNumber: true,
                  isWide: true,
                },
              ]}
            />
            <Pager cursor={cursor} older={older} first={words.first} next={words.more} />
          </>
        )}
      </Answer>
    </Panel>
  );
}

/** For `Facts`, of a block by hash or height: its place in the log, and how to read the record. */
export function useLogPlace(block: string): readonly (readonly [string, ReactNode])[] {
  const words = TEXT.log;
  const record = useQuery({
    queryKey: ['record', block],
    queryFn: ({ signal }) => one<BlockRecord>(`blocks/${block}/record`, signal),
  });
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
