import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { useState, type ReactElement } from 'react';
import type { BlockDetail } from '../../../../schemas/explorer-api/blocks.ts';
import { blockTitle } from '../../../../schemas/explorer-api/words.ts';
import { blockTransactions } from '../api/chain.ts';
import { isFinal, judgedOne, type Judged } from '../api/finality.ts';
import { useStatus } from '../api/health.ts';
import {
  AddressLink,
  Amount,
  Answer,
  AnswerPanel,
  Facts,
  Note,
  PlainHash,
  Time,
} from '../design/parts.tsx';
import { grouped, shortened } from '../format.ts';
import { Heading } from '../design/heading.tsx';
import { CHAIN } from './text.ts';
import { TEXT } from '../text.ts';
import { Confirmations } from './confirmations.tsx';
import { Effects, useLogPlace } from './effects.tsx';
import { TransactionTable } from './transaction-table.tsx';

const ROWS = 100;

export function BlockPage(): ReactElement {
  const { id } = useParams({ from: '/blocks/$id' });
  const block = useQuery(judgedOne<BlockDetail>(`blocks/${encodeURIComponent(id)}`));
  const height = block.data?.height;
  const title = height === undefined ? CHAIN.tabs.block : blockTitle(height);
  return (
    <>
      <Heading title={title} error={block.error}>
        {block.data !== undefined && <Confirmations height={block.data.height} of={block.data} />}
        {height !== undefined && <Neighbours height={height} />}
      </Heading>
      <Answer of={block}>{(shown) => <Shown key={id} block={shown} />}</Answer>
    </>
  );
}

function Neighbours({ height }: { readonly height: number }): ReactElement {
  const status = useStatus();
  const newest = status.data?.indexed?.height ?? height;
  return (
    <span className="row">
      {height > 0 && (
        <Link to="/blocks/$id" params={{ id: String(height - 1) }}>
          {TEXT.block.older}
        </Link>
      )}
      {height < newest && (
        <Link to="/blocks/$id" params={{ id: String(height + 1) }}>
          {TEXT.block.newer}
        </Link>
      )}
    </span>
  );
}

function Shown({ block }: { readonly block: BlockDetail & Judged }): ReactElement {
  const { height } = block;
  const [first] = useState(block.hash);
  const place = useLogPlace(block.hash);
  const transactions = useQuery({
    queryKey: ['block transactions', height, block.hash],
    queryFn: ({ signal }) => blockTransactions(block, ROWS, signal),
  });
  return (
    <>
      {block.hash !== first && !isFinal(height, block) && (
        <Note>{TEXT.block.replaced(shortened(first))}</Note>
      )}
      <section className="panel" aria-label={blockTitle(height)}>
        <Facts
          of={[
            [TEXT.transaction.hash, <PlainHash of={block.hash} what="hash" isWhole />],
            [
              TEXT.block.parent,
              <Link to="/blocks/$id" params={{ id: block.parent_hash }}>
                <PlainHash of={block.parent_hash} what="hash" isWhole isBare />
              </Link>,
            ],
            [TEXT.transaction.time, <Time of={block.timestamp} />],
            [TEXT.block.producer, <AddressLink of={block.producer} isWhole />],
            [TEXT.block.recipient, <AddressLink of={block.reward_recipient} isWhole />],
            [TEXT.block.reward, <Amount of={block.block_reward} />],
            [TEXT.block.fees, <Amount of={block.total_fees} />],
            [TEXT.home.transactions, grouped(block.tx_count)],
            ...place,
          ]}
        />
      </section>
      <AnswerPanel
        title={TEXT.home.transactions}
        aside={
          transactions.data?.older !== undefined && (
            <Link to="/transactions" search={{ block: String(height) }}>
              {TEXT.home.all}
            </Link>
          )
        }
        of={transactions}
      >
        {({ items }) => (
          <TransactionTable transactions={items} of={block} empty={TEXT.block.none} />
        )}
      </AnswerPanel>
      <Effects of={`blocks/${block.hash}`} empty={TEXT.effects.ofBlock} />
    </>
  );
}
