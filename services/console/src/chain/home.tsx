import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import {
  useDeferredValue,
  useMemo,
  useRef,
  useState,
  type CSSProperties,
  type ReactElement,
} from 'react';
import type { Block } from '../../../../schemas/explorer-api/blocks.ts';
import type { Stats } from '../../../../schemas/explorer-api/network.ts';
import type { Transaction } from '../../../../schemas/explorer-api/transactions.ts';
import { one, page } from '../api/explorer.ts';
import { useStatus } from '../api/health.ts';
import { NO_BLOCKS, withPage, type LiveBlocks } from '../api/live-blocks.ts';
import { Age, Answer, BlockLink, Figures, Panel, AddressLink, Table } from '../design/parts.tsx';
import { grouped, shortened } from '../format.ts';
import { TEXT } from '../text.ts';
import { TransactionTable } from './transaction-table.tsx';

/** In a page: more than a fast chain makes between two looks, so that each meets the one before. */
const BLOCKS = 60;
const STRIP = 24;
const ROWS = 12;
/** The strip moves so many places at most at once. */
const MOVED_MAX = 3;

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
  const final = status.data?.indexed?.finalized_height ?? undefined;
  const live = useDeferredValue(useLiveBlocks(blocks.data?.items));
  const strip = useMemo(() => <Strip live={live} final={final ?? -1} />, [live, final]);
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
              [TEXT.home.final, final === undefined ? '–' : grouped(final)],
              [TEXT.home.rate, shown.tx_per_second.toFixed(2)],
              [TEXT.home.blockTime, shown.avg_block_time_seconds.toFixed(2)],
              [TEXT.home.total, grouped(shown.total_transactions)],
              [TEXT.home.validators, grouped(shown.active_validators)],
            ]}
          />
        )}
      </Answer>
      <Reorganised heights={[...live.orphans.keys()]} />
      <Panel
        title={TEXT.home.strip}
        aside={
          <span className="key">
            <i data-open="" /> {TEXT.block.open}
            <i /> {TEXT.block.final}
          </span>
        }
      >
        <Answer of={blocks}>{() => strip}</Answer>
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
  // in the render: an effect would render the page a second time
  if (items !== undefined && items !== live.blocks) setLive(withPage(live, items));
  return live;
}

function Reorganised({ heights }: { readonly heights: readonly number[] }): ReactElement | null {
  if (heights.length === 0) return null;
  return (
    <p className="note" role="status">
      {TEXT.home.reorganised(Math.min(...heights), Math.max(...heights))}
    </p>
  );
}

/** Another one each time that the newest block is another. */
function useTurn(newest: string | undefined): 'a' | 'b' {
  const turn = useRef<{ readonly newest: string | undefined; readonly is: 'a' | 'b' }>({
    newest,
    is: 'a',
  });
  if (turn.current.newest !== newest)
    turn.current = { newest, is: turn.current.is === 'a' ? 'b' : 'a' };
  return turn.current.is;
}

/**
 * The newest at the left; all move on when one arrives. A block is as full as its transactions,
 * compared with the fullest that is shown, and one that was replaced hangs below the other.
 */
function Strip(props: { readonly live: LiveBlocks; readonly final: number }): ReactElement {
  const { arrived, orphans } = props.live;
  const blocks = props.live.blocks.slice(0, STRIP);
  const turn = useTurn(blocks[0]?.hash);
  if (blocks.length === 0) return <p className="nothing">{TEXT.states.empty}</p>;
  const fullest = Math.max(1, ...blocks.map(({ tx_count: txCount }) => txCount));
  const moved = Math.min(
    MOVED_MAX,
    blocks.filter(({ height, hash }) => arrived.has(hash) && !orphans.has(height)).length,
  );
  const style: CSSProperties & { readonly '--moved': number } = { '--moved': moved };
  return (
    <div className="strip" tabIndex={0} role="region" aria-label={TEXT.home.strip}>
      <ol style={style} data-turn={moved === 0 ? undefined : turn}>
        {blocks.map((block) => (
          <li key={block.hash}>
            <Card
              block={block}
              full={block.tx_count / fullest}
              isNew={arrived.has(block.hash)}
              isOpen={block.height > props.final}
            />
            <Orphan block={orphans.get(block.height)} />
          </li>
        ))}
      </ol>
    </div>
  );
}

function Card(props: {
  readonly block: Block;
  readonly full: number;
  readonly isNew: boolean;
  readonly isOpen: boolean;
}): ReactElement {
  const { height, tx_count: txCount, timestamp } = props.block;
  const style: CSSProperties & { readonly '--full': string } = {
    '--full': `${Math.round(100 * props.full)}%`,
  };
  return (
    <Link
      to="/blocks/$id"
      params={{ id: String(height) }}
      className="block"
      data-new={props.isNew ? '' : undefined}
      data-open={props.isOpen ? '' : undefined}
      title={props.isOpen ? TEXT.block.open : TEXT.block.final}
      style={style}
    >
      <strong>{grouped(height)}</strong>
      <span>{TEXT.block.filled(txCount)}</span>
      <span className="quiet">
        <Age of={timestamp} />
      </span>
    </Link>
  );
}

/** The block that another took the place of. */
function Orphan({ block }: { readonly block: Block | undefined }): ReactElement | null {
  if (block === undefined) return null;
  return (
    <div className="orphan" key={block.hash} title={block.hash}>
      <strong>{TEXT.home.replaced}</strong>
      <span className="mono">{shortened(block.hash)}</span>
      <span>{TEXT.block.filled(block.tx_count)}</span>
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
