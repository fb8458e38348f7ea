import { useQuery, type UseQueryResult } from '@tanstack/react-query';
import { Link, useSearch } from '@tanstack/react-router';
import { useMemo, type ReactElement } from 'react';
import type { RecordedRun } from '../../../../schemas/explorer-api/reserve.ts';
import { RUN_TONES, verdictOf } from '../../../../schemas/explorer-api/words.ts';
import { pageQuery, type Page } from '../api/explorer.ts';
import { SEEN_BY_ICON, useReserve } from '../api/health.ts';
import { useMark } from '../design/lamp.tsx';
import { Pager } from '../design/pager.tsx';
import { amounts, BLOCK } from '../design/columns.tsx';
import { Amount, Answer, AnswerPanel, Panel, Table, Tag, Time } from '../design/parts.tsx';
import { Plot, type Line } from '../design/plot.tsx';
import { amountText, grouped, localTime, plotted } from '../format.ts';
import { Heading } from '../design/heading.tsx';
import { CHAIN } from '../chain/text.ts';
import { TEXT } from '../text.ts';
import { Verify } from '../verify/verify.tsx';
import { isWhole } from './equation.ts';
import { useLight } from './light.ts';
import { Check, Equation, RunLink, StatusTag } from './run-parts.tsx';

const ROWS = 25;
/** The most that a page may have. */
const PLOTTED = 100;

export function ReservePage(): ReactElement {
  const { cursor } = useSearch({ from: '/reserve' });
  const newest = useQuery({
    ...pageQuery<RecordedRun>('reserve/runs', { limit: PLOTTED }),
    ...SEEN_BY_ICON,
  });
  const listed = useQuery(pageQuery<RecordedRun>('reserve/runs', { cursor, limit: ROWS }));
  return (
    <>
      <Light of={newest} />
      <Answer of={newest}>{({ items }) => <Newest runs={items} />}</Answer>
      <AnswerPanel title={TEXT.reserve.runs} of={listed}>
        {({ items, older }) => (
          <>
            <Runs runs={items} />
            <Pager cursor={cursor} older={older} />
          </>
        )}
      </AnswerPanel>
    </>
  );
}

/** The reserve as one light, and the next step of who reads it. The clock moves these alone. */
function Light(props: { readonly of: UseQueryResult<Page<RecordedRun>> }): ReactElement {
  const reserve = useReserve();
  const data = reserve.error === null ? reserve.data : undefined;
  const light = useLight(props.of);
  const { mark, word = CHAIN.tabs.unknown, next } = light ?? {};
  useMark(mark);
  const words = TEXT.reserve;
  const said =
    data?.configured === false
      ? words.notConfigured
      : data?.available === false
        ? words.unavailable(data.error)
        : light?.word;
  return (
    <>
      <Heading title={words.title} tab={CHAIN.tabs.of(words.title, word)}>
        {said !== undefined && <Tag tone={mark ?? 'plain'}>{said}</Tag>}
      </Heading>
      {next !== undefined && <p className="quiet">{next}</p>}
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
          {PLOTS.slice(areWhole ? 0 : -1).map((plot) => (
            <History key={plot.title} runs={runs} {...plot} />
          ))}
        </div>
      )}
      {isWhole(run) && <Verify run={run} />}
      <Check run={run} aside={<RunLink id={run.run_id}>{TEXT.reserve.newest}</RunLink>} />
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
              data-tone={RUN_TONES[verdictOf(run)]}
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

interface RunPlot {
  readonly title: string;
  readonly unit: string;
  readonly lines: readonly {
    readonly name: string;
    readonly color: Line['color'];
    readonly of: (run: RecordedRun) => bigint;
  }[];
}

const WORDS = TEXT.reserve;
const { usdt: USDT, clt: CLT } = TEXT.units;
const surplusOf = (run: RecordedRun): bigint => BigInt(run.surplus);
const liabilityOf = (run: RecordedRun): bigint => BigInt(run.ledger_liability);
const supplyOf = (run: RecordedRun): bigint => BigInt(run.onchain_supply);

/** An older gateway knows the last one alone. */
const PLOTS: readonly RunPlot[] = [
  {
    title: WORDS.plot,
    unit: USDT,
    lines: [
      {
        name: WORDS.withSurplus,
        color: '--accent',
        of: (run) => liabilityOf(run) + surplusOf(run),
      },
      { name: WORDS.liability, color: '--series-2', of: liabilityOf },
    ],
  },
  {
    title: WORDS.surplus,
    unit: USDT,
    lines: [{ name: WORDS.surplus, color: '--series-3', of: surplusOf }],
  },
  {
    title: WORDS.supplyPlot,
    unit: CLT,
    lines: [{ name: WORDS.supply, color: '--accent', of: supplyOf }],
  },
];

function History(props: RunPlot & { readonly runs: readonly RecordedRun[] }): ReactElement {
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
  const inUsdt = { unit: USDT, isWide: true };
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
        amounts(words.liability, 'ledger_liability', {
          unit: USDT,
          below: (run: RecordedRun) =>
            isWhole(run) && (
              <>
                <span className="quiet">{words.surplus}</span>{' '}
                <Amount of={run.surplus} unit={USDT} />
              </>
            ),
        }),
        amounts(words.custody, 'custody_reported', inUsdt),
        runs.every((run) => isWhole(run)) && amounts(words.surplus, 'surplus', inUsdt),
        BLOCK,
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
