/** The history of one thing, and the reason why it waits. */
import type { ReactElement, ReactNode } from 'react';
import type { Tone } from './parts.tsx';

export interface Happening {
  readonly key: string;
  readonly tone: Tone;
  readonly name: string;
  readonly amount?: ReactNode;
  /** with what it can be checked: transaction, block, place in the log, time */
  readonly facts: ReactNode;
}

export function Timeline(props: {
  readonly label: string;
  readonly of: readonly Happening[];
  /** in words; undefined: nothing follows */
  readonly next?: ReactNode;
}): ReactElement {
  return (
    <ol className="timeline" aria-label={props.label}>
      {props.of.map(({ key, tone, name, amount, facts }) => (
        <li key={key} data-tone={tone}>
          <div className="timeline-head">
            <strong>{name}</strong>
            {amount}
          </div>
          <div className="timeline-facts">{facts}</div>
        </li>
      ))}
      {props.next !== undefined && (
        <li data-tone="next">
          <p>{props.next}</p>
        </li>
      )}
    </ol>
  );
}
