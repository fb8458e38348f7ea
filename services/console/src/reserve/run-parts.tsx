/** Shared by the page of the reserve and that of one run. */
import { Link } from '@tanstack/react-router';
import type { ReactElement, ReactNode } from 'react';
import type { RecordedRun, RunStatus } from '../../../../schemas/explorer-api/reserve.ts';
import { Amount, Command, Tag, type Tone } from '../design/parts.tsx';
import { TEXT } from '../text.ts';

export const TONES: Readonly<Record<RunStatus, Tone>> = {
  ok: 'good',
  over_backed_drift: 'warn',
  mismatch: 'bad',
};

export function surplus({
  custody_reported: custodyReported,
  ledger_liability: ledgerLiability,
}: Pick<RecordedRun, 'custody_reported' | 'ledger_liability'>): string {
  return String(BigInt(custodyReported) - BigInt(ledgerLiability));
}

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

/** Names and values for `Figures`. */
export function positionOf(run: RecordedRun): readonly (readonly [string, ReactNode])[] {
  const words = TEXT.reserve;
  const usdt = TEXT.units.usdt;
  return [
    [words.custody, <Amount of={run.custody_reported} unit={usdt} />],
    [words.liability, <Amount of={run.ledger_liability} unit={usdt} />],
    [words.surplus, <Amount of={surplus(run)} unit={usdt} />],
    [words.supply, <Amount of={run.onchain_supply} />],
  ];
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
      <li>
        {words.ledger}
        <Command of={`npx ops tail treasury.ledger --to ${run.ledger_offset} --no-follow`} />
      </li>
      <li>
        {words.audit}
        <Command of="npx ops audit" />
      </li>
    </ol>
  );
}
