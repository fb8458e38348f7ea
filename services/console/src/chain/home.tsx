import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useEffect, useState, type CSSProperties, type ReactElement } from 'react';
import {
  one,
  page,
  type Block,
  type Stats,
  type Status,
  type Transaction,
} from '../api/explorer.ts';
import { NO_BLOCKS, withPage, type LiveBlocks } from '../api/live-blocks.ts';
import { Age, Answer, BlockLink, Figures, Panel, AddressLink, Table } from '../design/parts.tsx';
import { grouped } from '../format.ts';
import { TEXT } from '../text.ts';
import { TransactionTable } from './transaction-table.tsx';

const BLOCKS = 24;
const ROWS = 12;

export function useStatus(): ReturnType<typeof useQuery<Status>> {
  return useQuery({
    queryKey: ['status'],
    queryFn: ({ signal }) => one<Status>('status', signal, {}),
  });
}

export function HomePage(): ReactElement {
  const stats = useQuery({
    queryKey: ['stats'],
    queryFn: ({ signal }) => one<Stats>('stats', signal),
  });
  const status = useStatus();
  const blocks = useQuery({
    queryKey: ['blocks', BLOCKS],
    queryFn: ({ signal }) => page<Block>('blocks', signal, { limit: BLOCKS }),
  });
  const transactions = useQuery({
    queryKey: ['transactions', ROWS],
    queryFn: ({ signal }) => page<Transaction>('transactions', signal, { limit: ROWS }),
  });
  const live = useLiveBlocks(blocks.data?.items);
  const final = status.data?.indexed?.finalized_height;
  return (
    <>
      <header>
        <h1>{TEXT.home.title}</h1>
      </header>
      <Answer of={stats}>
        {(shown) => (
          <Figures
            of={[
              [TEXT.home.height, grouped(shown.latest_height)],
              [TEXT.home.final, final === undefined || final < 0 ? '–' : grouped(final)],
              [TEXT.home.rate, shown.tx_per_second.toFixed(2)],
              [TEXT.home.blockTime, shown.avg_block_time_seconds.toFixed(2)],
              [TEXT.home.total, grouped(shown.total_transactions)],
              [TEXT.home.validators, grouped(shown.active_validators)],
            ]}
          />
        )}
      </Answer>
      {live.replaced !== undefined && (
        <p className="note" role="status">
          {TEXT.home.reorganised(live.replaced.from, live.replaced.to)}
        </p>
      )}
      <Panel title={TEXT.home.strip}>
        <Answer of={blocks}>{() => <Strip live={live} final={final ?? -1} />}</Answer>
      </Panel>
      <div className="two">
        <Panel title={TEXT.home.blocks}>
          <Answer of={blocks}>{({ items }) => <BlockTable blocks={items.slice(0, ROWS)} />}</Answer>
        </Panel>
        <Panel
          title={TEXT.home.transactions}
          aside={<Link to="/transactions">{TEXT.home.all}</Link>}
        >
          <Answer of={transactions}>
            {({ items }) => <TransactionTable transactions={items} isShort />}
          </Answer>
        </Panel>
      </div>
    </>
  );
}

function useLiveBlocks(items: readonly Block[] | undefined): LiveBlocks {
  const [live, setLive] = useState(NO_BLOCKS);
  useEffect(() => {
    if (items !== undefined) setLive((before) => withPage(before, items));
  }, [items]);
  return live;
}

/** As full as its transactions, compared with the fullest that is shown. */
function Strip(props: { readonly live: LiveBlocks; readonly final: number }): ReactElement {
  const { blocks, arrived } = props.live;
  if (blocks.length === 0) return <p className="nothing">{TEXT.states.empty}</p>;
  const fullest = Math.max(1, ...blocks.map(({ tx_count: count }) => count));
  return (
    <div className="strip" tabIndex={0} role="region" aria-label={TEXT.home.strip}>
      {blocks.map(({ height, hash, tx_count: count, timestamp }) => {
        const style: CSSProperties & { readonly '--full': string } = {
          '--full': `${Math.round((100 * count) / fullest)}%`,
        };
        return (
          <Link
            key={hash}
            to="/blocks/$id"
            params={{ id: String(height) }}
            className="block"
            data-new={arrived.has(hash) ? '' : undefined}
            data-open={height > props.final ? '' : undefined}
            title={height > props.final ? TEXT.block.open : TEXT.block.final}
            style={style}
          >
            <strong>{height}</strong>
            <span>{TEXT.block.filled(count)}</span>
            <span className="quiet">
              <Age of={timestamp} />
            </span>
          </Link>
        );
      })}
    </div>
  );
}

function BlockTable({ blocks }: { readonly blocks: readonly Block[] }): ReactElement {
  return (
    <Table
      label={TEXT.home.blocks}
      items={blocks}
      keyOf={({ hash }) => hash}
      empty={TEXT.states.empty}
      columns={[
        { name: TEXT.block.height, cell: ({ height }) => <BlockLink height={height} /> },
        {
          name: TEXT.block.producer,
          cell: ({ producer }) => <AddressLink of={producer} isBare />,
        },
        { name: TEXT.block.count, cell: ({ tx_count }) => grouped(tx_count), isNumber: true },
        {
          name: TEXT.block.time,
          cell: ({ timestamp }) => <Age of={timestamp} />,
          isNumber: true,
        },
      ]}
    />
  );
}
