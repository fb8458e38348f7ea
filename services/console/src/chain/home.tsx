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
import { readChain, type Chain } from '../api/chain.ts';
import { judged, type Judged } from '../api/finality.ts';
import { NO_BLOCKS, withPage, type LiveBlocks } from '../api/live-blocks.ts';
import {
  AddressLink,
  Age,
  Answer,
  BlockLink,
  Figures,
  Panel,
  Table,
  withFinality,
} from '../design/parts.tsx';
import { grouped, shortened } from '../format.ts';
import { Heading } from '../design/heading.tsx';
import { TEXT } from '../text.ts';
import { TransactionTable } from './transaction-table.tsx';

const STRIP = 24;
const ROWS = 12;
/** The strip moves so many places at most at once. */
const MOVED_MAX = 3;

export function HomePage(): ReactElement {
  const { data, error, dataUpdatedAt } = useQuery({
    queryKey: ['chain'],
    queryFn: ({ signal }) => judged(() => readChain(signal)),
  });
  // the whole page, so that no part of it is ahead of another
  const chain = useDeferredValue(data);
  return (
    <>
      <header>
        <Heading>{TEXT.home.title}</Heading>
      </header>
      <Answer of={{ data: chain, error, dataUpdatedAt }}>{(shown) => <Shown of={shown} />}</Answer>
    </>
  );
}

function Shown({ of }: { readonly of: Chain & Judged }): ReactElement {
  const live = useLiveBlocks(of.blocks);
  const { stats, final_height: final } = of;
  const strip = useMemo(() => <Strip live={live} final={final} />, [live, final]);
  const height = of.blocks[0]?.height;
  return (
    <>
      <Figures
        of={[
          [TEXT.home.height, height === undefined ? '–' : grouped(height)],
          [TEXT.home.final, final === undefined ? '–' : grouped(final)],
          [TEXT.home.rate, stats.tx_per_second.toFixed(2)],
          [TEXT.home.blockTime, stats.avg_block_time_seconds.toFixed(2)],
          [
            TEXT.home.total,
            <>
              {grouped(stats.total_transactions)}
              {stats.latest_height !== height && (
                <span className="unit"> {TEXT.home.upTo(grouped(stats.latest_height))}</span>
              )}
            </>,
          ],
          [TEXT.home.validators, grouped(stats.active_validators)],
        ]}
      />
      <Reorganised heights={[...live.orphans.keys()]} />
      <Panel
        title={TEXT.home.strip}
        aside={
          <span className="key">
            <i data-open="" /> {TEXT.finality.open}
            <i /> {TEXT.finality.final}
          </span>
        }
      >
        {strip}
      </Panel>
      <div className="two">
        <Panel title={TEXT.home.blocks}>
          <BlockTable blocks={of.blocks.slice(0, ROWS)} of={of} />
        </Panel>
        <Panel
          title={TEXT.home.transactions}
          aside={<Link to="/transactions">{TEXT.home.all}</Link>}
        >
          <TransactionTable transactions={of.transactions} of={of} isShort />
        </Panel>
      </div>
    </>
  );
}

function useLiveBlocks(items: readonly Block[]): LiveBlocks {
  const [live, setLive] = useState(NO_BLOCKS);
  // in the render: an effect would render the page a second time
  if (items === live.blocks) return live;
  const next = withPage(live, items);
  setLive(next);
  return next;
}

function Reorganised({ heights }: { readonly heights: readonly number[] }): ReactElement | null {
  if (heights.length === 0) return null;
  return (
    <p className="note" role="status">
      {TEXT.home.reorganised(grouped(Math.min(...heights)))}
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
function Strip(props: {
  readonly live: LiveBlocks;
  /** undefined: not known */
  readonly final: number | undefined;
}): ReactElement {
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
              isOpen={props.final === undefined ? undefined : block.height > props.final}
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
  /** whether it may be replaced; undefined: not known */
  readonly isOpen: boolean | undefined;
}): ReactElement {
  const { height, tx_count: txCount, timestamp } = props.block;
  const words = TEXT.finality;
  const style: CSSProperties & { readonly '--full': string } = {
    '--full': `${Math.round(100 * props.full)}%`,
  };
  return (
    <Link
      to="/blocks/$id"
      params={{ id: String(height) }}
      className="block"
      data-new={props.isNew ? '' : undefined}
      data-open={props.isOpen === false ? undefined : ''}
      title={props.isOpen === undefined ? words.unknown : props.isOpen ? words.open : words.final}
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

function BlockTable(props: {
  readonly blocks: readonly Block[];
  readonly of: Judged;
}): ReactElement {
  return (
    <Table
      label={TEXT.home.blocks}
      items={props.blocks}
      keyOf={({ hash }) => hash}
      empty={TEXT.states.empty}
      columns={withFinality<Block>(
        [
          { name: TEXT.home.height, cell: ({ height }) => <BlockLink height={height} /> },
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
        ],
        props.of,
        ({ height }) => height,
      )}
    />
  );
}
