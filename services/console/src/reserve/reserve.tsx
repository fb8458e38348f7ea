import { useQuery, type UseQueryResult } from '@tanstack/react-query';
import { Link, useSearch } from '@tanstack/react-router';
import { useMemo, type ReactElement } from 'react';
import type { RecordedRun } from '../../../../schemas/explorer-api/reserve.ts';
import { page, type Page } from '../api/explorer.ts';
import { SEEN_BY_ICON, useReserve } from '../api/health.ts';
import { useMark } from '../design/lamp.tsx';
import { Pager } from '../design/pager.tsx';
import { Age, Amount, Answer, BlockLink, Panel, Table, Tag, Time } from '../design/parts.tsx';
import { Plot, type Line } from '../design/plot.tsx';
import { amountText, grouped, localTime, plotted } from '../format.ts';
import { Heading } from '../design/heading.tsx';
import { CHAIN } from '../chain/text.ts';
import { TEXT } from '../text.ts';
import { Verify } from '../verify/verify.tsx';
import { isWhole, verdictOf } from './equation.ts';
import { useLight } from './light.ts';
import { Check, Equation, RunLink, StatusTag, TONES } from './run-parts.tsx';

const ROWS = 25;
/** The most that a page may have. */
const PLOTTED = 100;

export function ReservePage(): ReactElement {
  const { cursor } = useSearch({ from: '/reserve' });
  const newest = useQuery({
    queryKey: ['runs', 'newest'],
    queryFn: ({ signal }) => page<RecordedRun>('reserve/runs', signal, { limit: PLOTTED }),
    ...SEEN_BY_ICON,
  });
  const listed = useQuery({
    queryKey: ['runs', cursor],
    queryFn: ({ signal }) => page<RecordedRun>('reserve/runs', signal, { cursor, limit: ROWS }),
  });
  return (
    <>
      <header>
        <LightHeading of={newest} />
        <Now />
      </header>
      <Answer of={newest}>{({ items }) => <Newest runs={items} />}</Answer>
      <Panel title={TEXT.reserve.runs}>
        <Answer of={listed}>
          {({ items, older }) => (
            <>
              <Runs runs={items} />
              <Pager cursor={cursor} older={older} />
            </>
          )}
        </Answer>
      </Panel>
    </>
  );
}

/** The clock moves the heading alone. */
function LightHeading(props: { readonly of: UseQueryResult<Page<RecordedRun>> }): ReactElement {
  const { mark, word = CHAIN.tabs.unknown } = useLight(props.of) ?? {};
  useMark(mark);
  const { title } = TEXT.reserve;
  return <Heading tab={CHAIN.tabs.of(title, word)}>{title}</Heading>;
}

/** The status as the treasury says it now. */
function Now(): ReactElement | null {
  const { data } = useReserve();
  const words = TEXT.reserve;
  if (data === undefined) return null;
  if (!data.configured) return <Tag>{words.notConfigured}</Tag>;
  if (!data.available) return <Tag tone="bad">{words.unavailable(data.error)}</Tag>;
  return data.last_run === null ? (
    <Tag>{words.none}</Tag>
  ) : (
    <>
      <StatusTag of={data.last_run.status} />
      <span className="quiet">
        {words.runOf} <Age of={data.last_run.run_at} /> {TEXT.deposits.ago}
      </span>
    </>
  );
}

function Newest({ runs }: { readonly runs: readonly RecordedRun[] }): ReactElement {
  const [run] = runs;
  if (run === undefined) return <p className="nothing">{TEXT.reserve.none}</p>;
  const areWhole = runs.every((each) => isWhole(each));
  return (
    <>
      {areWhole && <Equation run={run} isNewest />}
      <StatusHistory runs={runs} />
      {runs.length > 1 && (
        <div className="two">
          {areWhole && (
            <>
              <History
                runs={runs}
                title={TEXT.reserve.plot}
                lines={USDT_LINES}
                unit={TEXT.units.usdt}
              />
              <History
                runs={runs}
                title={TEXT.reserve.surplus}
                lines={SURPLUS_LINES}
                unit={TEXT.units.usdt}
              />
            </>
          )}
          <History
            runs={runs}
            title={TEXT.reserve.supplyPlot}
            lines={CLT_LINES}
            unit={TEXT.units.clt}
          />
        </div>
      )}
      {isWhole(run) && <Verify run={run} />}
      <Panel
        title={TEXT.reserve.check}
        aside={<RunLink id={run.run_id}>{TEXT.reserve.newest}</RunLink>}
      >
        <div className="inside">
          <Check run={run} />
        </div>
      </Panel>
    </>
  );
}

/** A bar for each run, oldest first. */
function StatusHistory({ runs }: { readonly runs: readonly RecordedRun[] }): ReactElement {
  const words = TEXT.reserve;
  const verdicts = runs.map((run) => verdictOf(run));
  const summary = [...new Set(verdicts)]
    .map(
      (each) => `${verdicts.filter((verdict) => verdict === each).length} ${words.statuses[each]}`,
    )
    .join(', ');
  return (
    <Panel title={words.history} aside={<span className="quiet">{summary}</span>}>
      <div className="inside">
        <div className="bars">
          {runs.toReversed().map((run) => (
            <Link
              key={run.run_id}
              to="/reserve/$run"
              params={{ run: run.run_id }}
              data-tone={TONES[verdictOf(run)]}
              title={`${localTime(run.run_at)}: ${words.statuses[verdictOf(run)]}`}
              aria-label={`${localTime(run.run_at)}: ${words.statuses[verdictOf(run)]}`}
              tabIndex={-1}
            />
          ))}
        </div>
      </div>
    </Panel>
  );
}

interface Plotted {
  readonly name: string;
  readonly color: Line['color'];
  readonly of: (run: RecordedRun) => bigint;
}

const WORDS = TEXT.reserve;
const LIABILITY: Plotted = {
  name: WORDS.liability,
  color: '--series-2',
  of: (run) => BigInt(run.ledger_liability),
};
const USDT_LINES: readonly Plotted[] = [
  {
    name: WORDS.withSurplus,
    color: '--accent',
    of: (run) => LIABILITY.of(run) + BigInt(run.surplus),
  },
  LIABILITY,
];
const SURPLUS_LINES: readonly Plotted[] = [
  { name: WORDS.surplus, color: '--series-3', of: (run) => BigInt(run.surplus) },
];
const CLT_LINES: readonly Plotted[] = [
  { name: WORDS.supply, color: '--accent', of: (run) => BigInt(run.onchain_supply) },
];

function History(props: {
  readonly title: string;
  readonly runs: readonly RecordedRun[];
  readonly lines: readonly Plotted[];
  readonly unit: string;
}): ReactElement {
  const { runs, title, unit } = props;
  const oldestFirst = useMemo(() => runs.toReversed(), [runs]);
  const at = useMemo(
    () => oldestFirst.map(({ run_at: runAt }) => Date.parse(runAt) / 1_000),
    [oldestFirst],
  );
  const lines = useMemo(
    (): Line[] =>
      props.lines.map(({ name, color, of }) => ({
        name,
        color,
        values: oldestFirst.map((run) => plotted(of(run))),
        texts: oldestFirst.map((run) => `${amountText(of(run))} ${unit}`),
      })),
    [oldestFirst, props.lines, unit],
  );
  return (
    <Panel title={title} aside={<span className="unit">{unit}</span>}>
      <div className="inside">
        <Plot label={title} at={at} lines={lines} />
      </div>
    </Panel>
  );
}

function statusTag(run: RecordedRun): ReactElement {
  return <StatusTag of={verdictOf(run)} />;
}

function Runs({ runs }: { readonly runs: readonly RecordedRun[] }): ReactElement {
  const words = TEXT.reserve;
  const usdt = TEXT.units.usdt;
  return (
    <Table
      label={words.runs}
      items={runs}
      keyOf={({ run_id: runId }) => runId}
      empty={words.none}
      columns={[
        {
          name: words.at,
          cell: ({ run_id: runId, run_at: runAt }) => (
            <RunLink id={runId}>
              <Time of={runAt} />
            </RunLink>
          ),
          below: statusTag,
        },
        { name: words.status, cell: statusTag, isWide: true },
        {
          name: words.liability,
          cell: (run) => <Amount of={run.ledger_liability} unit={usdt} />,
          below: (run) =>
            isWhole(run) && (
              <>
                <span className="quiet">{words.surplus}</span>{' '}
                <Amount of={run.surplus} unit={usdt} />
              </>
            ),
          isNumber: true,
        },
        {
          name: words.custody,
          cell: (run) => <Amount of={run.custody_reported} unit={usdt} />,
          isNumber: true,
          isWide: true,
        },
        ...(runs.every((run) => isWhole(run))
          ? [
              {
                name: words.surplus,
                cell: (run: RecordedRun) => <Amount of={run.surplus} unit={usdt} />,
                isNumber: true,
                isWide: true,
              },
            ]
          : []),
        {
          name: words.block,
          cell: (run) => <BlockLink height={run.block_height} />,
          isNumber: true,
          isWide: true,
        },
        {
          name: words.offset,
          cell: (run) => grouped(run.ledger_offset),
          isNumber: true,
          isWide: true,
        },
      ]}
    />
  );
}
