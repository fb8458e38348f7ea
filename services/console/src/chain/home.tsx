import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import {
  useDeferredValue,
  useEffect,
  useMemo,
  useRef,
  useState,
  type CSSProperties,
  type ReactElement,
} from 'react';
import type { Block } from '../../../../schemas/explorer-api/blocks.ts';
import { readChain, type Chain } from '../api/chain.ts';
import { isFinal, judged, type Judged } from '../api/finality.ts';
import { NO_BLOCKS, withPage, type LiveBlocks } from '../api/live-blocks.ts';
import { keepAwake } from '../browser.ts';
import { later, WithService } from '../design/later.tsx';
import { Age, Answer, Figures, Note, Panel } from '../design/parts.tsx';
import { grouped, localClock, shortened } from '../format.ts';
import { Heading } from '../design/heading.tsx';
import { TEXT } from '../text.ts';
import { BROWSER_ZONE, TIME_ZONE } from '../zone.ts';
import { InFlight, ReserveLight } from './money.tsx';
import { SentenceTable } from './sentence.tsx';
import { CHAIN } from './text.ts';

const STRIP = 24;
/** The strip moves so many places at most at once. */
const MOVED_MAX = 3;

// its script comes after that of the chain
const Rides = later<{ readonly hubUrl: string }>(
  'newest rides',
  async () => (await import('./rides.tsx')).Rides,
);

/** All parts at a glance; with `wall` as a screen on the wall shows them. */
export function HomePage(): ReactElement {
  const isWall = useSearch({ from: '/' }).wall !== undefined;
  const { data, error, dataUpdatedAt } = useQuery({
    queryKey: ['chain'],
    queryFn: ({ signal }) => judged(() => readChain(signal)),
  });
  const answer = useMemo(() => ({ data, error, dataUpdatedAt }), [data, error, dataUpdatedAt]);
  // all that is of the chain, so that no part of it is ahead of another
  const chain = useDeferredValue(answer);
  return (
    <>
      <Heading title={TEXT.nav.chain}>
        {chain.data !== undefined && (
          <span className="quiet">{CHAIN.home.moment(localClock(chain.dataUpdatedAt))}</span>
        )}
        {isWall ? (
          <Leave />
        ) : (
          <Link to="/" search={{ wall: '' }} className="wide">
            {CHAIN.home.wall}
          </Link>
        )}
      </Heading>
      <div className="wall" data-screen={isWall ? '' : undefined}>
        <ReserveLight />
        <InFlight />
        <Answer of={chain}>{(shown) => <Shown of={shown} />}</Answer>
        <Panel title={CHAIN.rides.title} aside={<Link to="/market">{TEXT.nav.market}</Link>}>
          <WithService name="hub_url">{(hubUrl) => <Rides hubUrl={hubUrl} />}</WithService>
        </Panel>
      </div>
    </>
  );
}

/** A screen on the wall stays on until Escape is pressed, or the link is followed. */
function Leave(): ReactElement {
  const navigate = useNavigate();
  useEffect(keepAwake, []);
  useEffect(() => {
    const onKey = ({ key }: KeyboardEvent): void => {
      // it closes the list of keys first; one that is closed may still have the focus
      if (document.querySelector('dialog[open]') !== null) return;
      if (key === 'Escape') void navigate({ to: '/' });
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, [navigate]);
  return (
    <>
      {/* as the foot of other pages */}
      <span className="quiet">{CHAIN.home.zone(TIME_ZONE ?? BROWSER_ZONE)}</span>
      <Link to="/">
        {CHAIN.home.leave} <kbd>Esc</kbd>
      </Link>
    </>
  );
}

function Shown({ of }: { readonly of: Chain & Judged }): ReactElement {
  const live = useLiveBlocks(of.blocks);
  const { stats, final_height: final } = of;
  const strip = useMemo(() => <Strip live={live} final={final} />, [live, final]);
  const height = of.blocks[0]?.height;
  const orphans = [...live.orphans.keys()];
  const replaced = orphans.every((each) => isFinal(each, of)) ? [] : orphans;
  return (
    <>
      <Panel
        title={TEXT.home.strip}
        aside={
          <span className="key">
            <i data-open="" /> {TEXT.finality.open}
            <i /> {TEXT.finality.final}
          </span>
        }
      >
        <Figures
          of={[
            [TEXT.home.height, height === undefined ? '–' : grouped(height)],
            [TEXT.home.final, final === undefined ? '–' : grouped(final)],
            [TEXT.home.rate, stats.tx_per_second.toFixed(2)],
            [TEXT.home.blockTime, stats.avg_block_time_seconds.toFixed(2)],
            [
              TEXT.home.transactions,
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
        {replaced.length > 0 && (
          <Note>{TEXT.home.reorganised(grouped(Math.min(...replaced)))}</Note>
        )}
        {strip}
      </Panel>
      <Panel title={TEXT.home.transactions} aside={<Link to="/transactions">{TEXT.home.all}</Link>}>
        <SentenceTable transactions={of.transactions} of={of} />
      </Panel>
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

/** Another one each time that the newest block is another. */
function useTurn(newest: string | undefined): 'a' | 'b' {
  const turn = useRef({ newest, isEven: false });
  if (turn.current.newest !== newest) turn.current = { newest, isEven: !turn.current.isEven };
  return turn.current.isEven ? 'b' : 'a';
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
      <span>{CHAIN.home.filled(txCount)}</span>
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
      <span>{CHAIN.home.filled(block.tx_count)}</span>
    </div>
  );
}
