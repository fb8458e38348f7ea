/** Shared by the page of the reserve and that of one run. */
import { Link } from '@tanstack/react-router';
import type { ReactElement, ReactNode } from 'react';
import type { RecordedRun } from '../../../../schemas/explorer-api/reserve.ts';
import { RUN_TONES, verdictOf } from '../../../../schemas/explorer-api/words.ts';
import { useTolerance } from '../api/health.ts';
import { Age, Amount, Command, Facts, Panel, Tag, type Named } from '../design/parts.tsx';
import { amountText } from '../format.ts';
import { CHAIN } from '../chain/text.ts';
import { TEXT } from '../text.ts';
import { coverOf, isWhole, type Part, partsOf, unexplainedOf } from './equation.ts';

export function StatusTag({ of }: { readonly of: keyof typeof RUN_TONES }): ReactElement {
  return <Tag tone={RUN_TONES[of]}>{TEXT.reserve.statuses[of]}</Tag>;
}

/** The word in a title. An older gateway does not say what is uncovered. */
export function wordOf(run: RecordedRun): string {
  const verdict = verdictOf(run);
  return verdict === 'ok' && isWhole(run) ? CHAIN.tabs.covered : TEXT.reserve.statuses[verdict];
}

export function RunLink(props: {
  readonly id: string;
  readonly children: ReactNode;
}): ReactElement {
  return (
    <Link to="/reserve/$run" params={{ run: props.id }}>
      {props.children}
    </Link>
  );
}

function usdt(base: bigint): string {
  return `${amountText(base)} ${TEXT.units.usdt}`;
}

/** How much is covered, and how long ago it was. */
export function Cover({ run }: { readonly run: RecordedRun }): ReactElement {
  const words = TEXT.reserve.sentence;
  const [cover, uncovered] = [coverOf(run), BigInt(run.uncovered)];
  return (
    <>
      {uncovered > 0n ? (
        <strong className="bad">{words.uncovered(usdt(uncovered))}</strong>
      ) : cover === undefined ? (
        words.nothingOwed
      ) : (
        words.covered(cover)
      )}
      , <Age of={run.run_at} /> {TEXT.deposits.ago}
    </>
  );
}

function reasonsOf(run: RecordedRun, tolerance: string): readonly string[] {
  const words = TEXT.reserve.sentence;
  const [unexplained, surplus] = [unexplainedOf(run), BigInt(run.surplus)];
  const size = amountText(unexplained < 0n ? -unexplained : unexplained);
  const frozen = BigInt(run.frozen);
  return [
    ...(unexplained > 0n ? [words.more(`${size} ${words.supply}`)] : []),
    ...(unexplained < 0n ? [words.less(`${size} ${words.supply}`)] : []),
    ...(frozen === 0n ? [] : [words.frozen(usdt(frozen))]),
    ...(surplus < 0n ? [words.less(usdt(-surplus))] : []),
    ...(surplus > 0n ? [words.more(usdt(surplus)), tolerance] : []),
  ];
}

/** The tolerance that is in force now, as it is said beside a run. */
function useToleranceText(isNewest: boolean): string {
  const accepted = useTolerance();
  const words = TEXT.reserve.sentence;
  return accepted === undefined
    ? words.noTolerance
    : words.tolerance(amountText(BigInt(accepted)), isNewest ? '' : words.now);
}

/** Why the newest run is not ok, as far as its cover does not say so. */
export function useReasons(run: RecordedRun): readonly string[] {
  const tolerance = useToleranceText(true);
  return isWhole(run) && verdictOf(run) !== 'ok' ? reasonsOf(run, tolerance) : [];
}

/** Custody as a bar and as a sum, each part with the records that make it. */
export function Equation(props: {
  readonly run: RecordedRun;
  /** whether the tolerance that is in force now is the one of the run */
  readonly isNewest?: boolean;
}): ReactElement {
  const { run, isNewest = false } = props;
  const words = TEXT.reserve;
  const tolerance = useToleranceText(isNewest);
  const parts = partsOf(run);
  const largest = parts.reduce((most, [, of]) => (of > most ? of : most), 1n);
  return (
    <Panel title={words.equation}>
      <p className="inside">
        <Cover run={run} />; {[words.statuses[run.status], ...reasonsOf(run, tolerance)].join(', ')}
        .
      </p>
      <div className="equation inside" aria-hidden>
        {parts.map(([part, of]) => (
          <i
            key={part}
            data-part={part}
            data-tone={part === 'surplus' ? RUN_TONES[verdictOf(run)] : undefined}
            style={{ flexGrow: of > 0n ? Number((of * 10_000n) / largest) : 0 }}
            hidden={of <= 0n}
          />
        ))}
      </div>
      <Facts
        of={[
          [
            words.custody,
            <span className="row" data-part="custody">
              <strong>
                <Amount of={run.custody_reported} unit={TEXT.units.usdt} />
              </strong>
            </span>,
          ],
          ...parts.map(([part, of]): Named => [
            `${of < 0n ? '−' : part === 'liability' ? '=' : '+'} ${words.parts[part]}`,
            <span className="row" data-part={part}>
              <span className={part === 'surplus' ? RUN_TONES[verdictOf(run)] : undefined}>
                <Amount of={String(of < 0n ? -of : of)} unit={TEXT.units.usdt} />
              </span>
              {part === 'surplus' && of > 0n && <span className="quiet">{tolerance}</span>}
              <Records of={part} />
            </span>,
          ]),
        ]}
      />
    </Panel>
  );
}

/** Leads to the records that make a part. */
function Records({ of }: { readonly of: Part }): ReactElement {
  const words = TEXT.reserve.records;
  if (of === 'liability')
    return (
      <Link to="/transactions" search={{ type: 'Mint' }}>
        {words.mints}
      </Link>
    );
  return of === 'surplus' ? (
    <a href="#check-audit">{words.audit}</a>
  ) : (
    <a href="#check-ledger">{words.ledger}</a>
  );
}

/** Commands that read the inputs of a run again, and recompute it. */
export function Check(props: {
  readonly run: RecordedRun;
  readonly aside?: ReactNode;
}): ReactElement {
  const { run_id: id, ledger_offset: offset } = props.run;
  const words = TEXT.reserve.checks;
  return (
    <Panel title={TEXT.reserve.check} aside={props.aside}>
      <ol className="inside check">
        <li>
          {words.record}
          <Command of={`npx ops tail reserve.runs --key ${id} --no-follow`} />
        </li>
        <li id="check-ledger">
          {words.ledger}
          <Command of={`npx ops tail treasury.ledger --to ${offset} --no-follow`} />
        </li>
        <li id="check-audit">
          {words.audit}
          <Command of="npx ops audit" />
        </li>
      </ol>
    </Panel>
  );
}
