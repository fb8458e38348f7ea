/** The money behind the chain: whether it is covered, and the deposits that are not minted yet. */
import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import type { RecordedRun } from '../../../../schemas/explorer-api/reserve.ts';
import { useMintQueue, type MintQueue } from '../api/deposits.ts';
import { useNewestRuns, useReserve } from '../api/health.ts';
import { useSettings } from '../api/settings.ts';
import { isCounted } from '../deposits/estimate.ts';
import { Lamp, useMark } from '../design/lamp.tsx';
import { Age, Amount, Answer, AnswerPanel, Figures, Tag, type Named } from '../design/parts.tsx';
import { grouped, localClock } from '../format.ts';
import { isWhole, partsOf } from '../reserve/equation.ts';
import { useLight, type Light } from '../reserve/light.ts';
import { Cover, useReasons } from '../reserve/run-parts.tsx';
import { TEXT } from '../text.ts';
import { CHAIN } from './text.ts';

export function ReserveLight(): ReactElement {
  const runs = useNewestRuns();
  const light = useLight(runs);
  useMark(light?.mark);
  return (
    <AnswerPanel
      title={TEXT.reserve.title}
      aside={<Link to="/reserve">{TEXT.reserve.all}</Link>}
      of={runs}
    >
      {({ items: [run] }) => (run === undefined ? <NoRun /> : <Lit run={run} light={light} />)}
    </AnswerPanel>
  );
}

/** Without a treasury the list of runs is empty, too. */
function NoRun(): ReactElement {
  return (
    <Answer of={useReserve()}>
      {({ configured: isConfigured }) => (
        <p className="nothing">{isConfigured ? TEXT.reserve.none : TEXT.reserve.notConfigured}</p>
      )}
    </Answer>
  );
}

function Lit(props: {
  readonly run: RecordedRun;
  readonly light: Light | undefined;
}): ReactElement {
  const { run } = props;
  const { mark, word, next } = props.light ?? {};
  const reasons = useReasons(run);
  const words = TEXT.reserve;
  return (
    <>
      <p className="light">
        {mark !== undefined && <Lamp of={mark} />}
        <span>
          {isWhole(run) && <Cover run={run} />}{' '}
          {mark !== 'good' && <Tag tone={mark ?? 'plain'}>{word}</Tag>}
        </span>
      </p>
      <Figures
        of={[
          [words.custody, <Amount of={run.custody_reported} unit={TEXT.units.usdt} />],
          [words.liability, <Amount of={run.ledger_liability} unit={TEXT.units.usdt} />],
          reasons.length > 0 && [
            CHAIN.home.why,
            <span className="unit">{reasons.join(', ')}</span>,
          ],
        ]}
      />
      {next !== undefined && <p className="moment">{next}</p>}
    </>
  );
}

/** Sums of the newest run, and the queue of mints where the deposit service shows it. */
export function InFlight(): ReactElement {
  const runs = useNewestRuns();
  const url = useSettings().data?.deposits_url ?? undefined;
  const { data, error, dataUpdatedAt } = useMintQueue(url);
  const queue = error === null ? data : undefined;
  const words = CHAIN.home;
  return (
    <AnswerPanel
      title={words.deposits}
      aside={<Link to="/deposits">{TEXT.nav.deposits}</Link>}
      of={runs}
    >
      {({ items: [run] }) =>
        run === undefined && queue === undefined ? (
          <NoRun />
        ) : (
          <>
            <Figures of={[...partsIn(run), ...nextOf(queue)]} />
            <p className="moment">
              {error !== null && (
                <span className="warn" role="status">
                  {TEXT.away.deposits.down}.
                </span>
              )}
              {queue?.is_stopped === true && (
                <span className="bad" role="status">
                  {words.stopped}
                </span>
              )}
              {run !== undefined && (
                <span>
                  {words.sums} <Age of={run.run_at} /> {TEXT.deposits.ago}
                </span>
              )}
              {queue !== undefined && <span>{words.queue(localClock(dataUpdatedAt))}</span>}
            </p>
          </>
        )
      }
    </AnswerPanel>
  );
}

/**
 * The next mints by themselves: newer than the run, whose sum has those of a person, too; and the
 * room for them.
 */
function nextOf(queue: MintQueue | undefined): readonly Named[] {
  if (queue === undefined) return [];
  const words = CHAIN.home;
  const count = grouped(BigInt(queue.waiting_count));
  return [
    [
      words.next,
      <>
        <Amount of={queue.waiting} />{' '}
        <span className="unit">
          {isCounted(queue) ? words.count(count) : words.countMost(count)}
        </span>
      </>,
    ],
    [words.room, <Amount of={queue.cap_left} />],
  ];
}

function partsIn(run: RecordedRun | undefined): readonly Named[] {
  if (run === undefined || !isWhole(run)) return [];
  const parts = new Map(partsOf(run));
  return (['minting', 'waiting', 'held'] as const).map((part) => [
    TEXT.reserve.parts[part],
    <Amount of={String(parts.get(part) ?? 0n)} />,
  ]);
}
