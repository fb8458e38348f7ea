import { useQuery } from '@tanstack/react-query';
import { useSearch } from '@tanstack/react-router';
import { useMemo, type ReactElement } from 'react';
import { page, type RecordedRun, type RunStatus } from '../api/explorer.ts';
import { Pager } from '../design/pager.tsx';
import {
  Age,
  Amount,
  Answer,
  BlockLink,
  Copy,
  Facts,
  Figures,
  Panel,
  Table,
  Tag,
  Time,
  type Tone,
} from '../design/parts.tsx';
import { Plot, type Line } from '../design/plot.tsx';
import { grouped, plotted } from '../format.ts';
import { TEXT } from '../text.ts';

const ROWS = 25;
/** The most that a page may have. */
const PLOTTED = 100;
/** Recomputes every run from the log. */
const CHECK = 'npx ops audit';

const TONES: Readonly<Record<RunStatus, Tone>> = {
  ok: 'good',
  over_backed_drift: 'warn',
  mismatch: 'bad',
};

export function ReservePage(): ReactElement {
  const { cursor } = useSearch({ from: '/reserve' });
  const newest = useQuery({
    queryKey: ['runs', 'newest'],
    queryFn: ({ signal }) => page<RecordedRun>('reserve/runs', signal, { limit: PLOTTED }),
  });
  const listed = useQuery({
    queryKey: ['runs', cursor],
    queryFn: ({ signal }) => page<RecordedRun>('reserve/runs', signal, { cursor, limit: ROWS }),
  });
  return (
    <>
      <header>
        <h1>{TEXT.reserve.title}</h1>
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

function surplus({ custody_reported, ledger_liability }: RecordedRun): string {
  return String(BigInt(custody_reported) - BigInt(ledger_liability));
}

function StatusTag({ of }: { readonly of: RunStatus }): ReactElement {
  return <Tag tone={TONES[of]}>{TEXT.reserve.statuses[of]}</Tag>;
}

function Newest({ runs }: { readonly runs: readonly RecordedRun[] }): ReactElement {
  const [run] = runs;
  const words = TEXT.reserve;
  if (run === undefined) return <p className="nothing">{words.none}</p>;
  const usdt = TEXT.units.usdt;
  return (
    <>
      <Figures
        of={[
          [words.status, <StatusTag of={run.status} />],
          [words.custody, <Amount of={run.custody_reported} unit={usdt} />],
          [words.liability, <Amount of={run.ledger_liability} unit={usdt} />],
          [words.surplus, <Amount of={surplus(run)} unit={usdt} />],
          [words.supply, <Amount of={run.onchain_supply} />],
        ]}
      />
      <History runs={runs} />
      <div className="two">
        <Panel title={words.newest} aside={<Age of={run.run_at} />}>
          <Facts
            of={[
              [words.at, <Time of={run.run_at} />],
              [words.genesis, <Amount of={run.genesis_allocation} />],
              [words.minted, <Amount of={run.treasury_minted} />],
              [words.burned, <Amount of={run.burned} />],
              [words.held, <Amount of={run.held} unit={usdt} />],
              [words.fees, <Amount of={run.retained_fees} unit={usdt} />],
            ]}
          />
        </Panel>
        <Panel title={words.inputs}>
          <Facts
            of={[
              [words.offset, `treasury.ledger ${grouped(run.ledger_offset)}`],
              [words.block, <BlockLink height={run.block_height} />],
              [
                words.check,
                <>
                  <p className="quiet check">{words.checkHow}</p>
                  <span className="hash">
                    <code>{CHECK}</code>
                    <Copy text={CHECK} what="command" />
                  </span>
                </>,
              ],
            ]}
          />
        </Panel>
      </div>
    </>
  );
}

function History({ runs }: { readonly runs: readonly RecordedRun[] }): ReactElement | null {
  const oldestFirst = useMemo(() => runs.toReversed(), [runs]);
  const at = useMemo(
    () => oldestFirst.map(({ run_at: runAt }) => Date.parse(runAt) / 1_000),
    [oldestFirst],
  );
  const lines = useMemo(
    (): Line[] => [
      {
        name: TEXT.reserve.custody,
        color: '--accent',
        values: oldestFirst.map((run) => plotted(BigInt(run.custody_reported))),
      },
      {
        name: TEXT.reserve.liability,
        color: '--series-2',
        values: oldestFirst.map((run) => plotted(BigInt(run.ledger_liability))),
      },
    ],
    [oldestFirst],
  );
  if (runs.length < 2) return null;
  return (
    <Panel title={TEXT.reserve.plot} aside={<span className="unit">{TEXT.units.usdt}</span>}>
      <div className="inside">
        <Plot label={TEXT.reserve.plot} at={at} lines={lines} />
      </div>
    </Panel>
  );
}

function Runs({ runs }: { readonly runs: readonly RecordedRun[] }): ReactElement {
  const words = TEXT.reserve;
  const usdt = TEXT.units.usdt;
  return (
    <Table
      label={words.runs}
      items={runs}
      keyOf={({ run_id: id }) => id}
      empty={words.none}
      columns={[
        { name: words.at, cell: ({ run_at: at }) => <Time of={at} /> },
        { name: words.status, cell: ({ status }) => <StatusTag of={status} /> },
        {
          name: words.liability,
          cell: (run) => <Amount of={run.ledger_liability} unit={usdt} />,
          isNumber: true,
          isWide: true,
        },
        {
          name: words.custody,
          cell: (run) => <Amount of={run.custody_reported} unit={usdt} />,
          isNumber: true,
          isWide: true,
        },
        {
          name: words.surplus,
          cell: (run) => <Amount of={surplus(run)} unit={usdt} />,
          isNumber: true,
        },
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
