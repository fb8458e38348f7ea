/** Shared by the page of the reserve and that of one run. */
import { Link } from '@tanstack/react-router';
import type { ReactElement, ReactNode } from 'react';
import type { RecordedRun, RunStatus } from '../../../../schemas/explorer-api/reserve.ts';
import { useTolerance } from '../api/health.ts';
import { Age, Amount, Command, Facts, Panel, Tag, type Tone } from '../design/parts.tsx';
import { amountText } from '../format.ts';
import { TEXT } from '../text.ts';
import { coverOf, partsOf, unexplainedOf, type Part } from './equation.ts';

export const TONES: Readonly<Record<RunStatus, Tone>> = {
  ok: 'good',
  over_backed_drift: 'warn',
  mismatch: 'bad',
};

export function StatusTag({ of }: { readonly of: RunStatus }): ReactElement {
  return <Tag tone={TONES[of]}>{TEXT.reserve.statuses[of]}</Tag>;
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

/** The verdict with its reason: how much is covered, since when, and the figure that decides. */
function Sentence(props: {
  readonly run: RecordedRun;
  readonly tolerance: string | undefined;
}): ReactElement {
  const { run, tolerance } = props;
  const words = TEXT.reserve.sentence;
  const surplus = BigInt(run.surplus);
  const [cover, unexplained] = [coverOf(run), unexplainedOf(run)];
  const reasons = [
    ...(unexplained === 0n
      ? []
      : [words.unexplained(`${amountText(unexplained)} ${TEXT.units.clt}`)]),
    surplus < 0n ? words.less(usdt(-surplus)) : words.more(usdt(surplus)),
    tolerance === undefined ? words.noTolerance : words.tolerance(amountText(BigInt(tolerance))),
  ];
  return (
    <p className="inside">
      {cover === undefined ? words.nothingOwed : words.covered(cover)}, <Age of={run.run_at} />{' '}
      {TEXT.deposits.ago}; {words.because[run.status]} {reasons.join(', ')}.
    </p>
  );
}

/** Custody as a bar and as a sum, each part with the records that make it. */
export function Equation({ run }: { readonly run: RecordedRun }): ReactElement {
  const tolerance = useTolerance();
  const words = TEXT.reserve;
  const parts = partsOf(run);
  const largest = parts.reduce((most, [, of]) => (of > most ? of : most), 1n);
  return (
    <Panel title={words.equation} aside={<StatusTag of={run.status} />}>
      <Sentence run={run} tolerance={tolerance} />
      <div className="equation inside" aria-hidden>
        {parts.map(([part, of]) => (
          <i
            key={part}
            data-part={part}
            data-tone={part === 'surplus' ? TONES[run.status] : undefined}
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
          ...parts.map(
            ([part, of]) =>
              [
                `${of < 0n ? '−' : part === 'liability' ? '=' : '+'} ${words.parts[part]}`,
                <span className="row" data-part={part}>
                  <span className={part === 'surplus' ? TONES[run.status] : undefined}>
                    <Amount of={String(of < 0n ? -of : of)} unit={TEXT.units.usdt} />
                  </span>
                  {part === 'surplus' && (
                    <span className="quiet">
                      {tolerance === undefined
                        ? words.sentence.noTolerance
                        : words.sentence.tolerance(amountText(BigInt(tolerance)))}
                    </span>
                  )}
                  <Records of={part} />
                </span>,
              ] as const,
          ),
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
export function Check({ run }: { readonly run: RecordedRun }): ReactElement {
  const words = TEXT.reserve.checks;
  return (
    <ol className="check">
      <li>
        {words.record}
        <Command of={`npx ops tail reserve.runs --key ${run.run_id} --no-follow`} />
      </li>
      <li id="check-ledger">
        {words.ledger}
        <Command of={`npx ops tail treasury.ledger --to ${run.ledger_offset} --no-follow`} />
      </li>
      <li id="check-audit">
        {words.audit}
        <Command of="npx ops audit" />
      </li>
    </ol>
  );
}
