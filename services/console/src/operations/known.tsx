import type { ReactElement, ReactNode } from 'react';
import type { Part } from '../../../../schemas/operations-api/answers.ts';
import { OPS } from './text.ts';

/** A part of the answer, or why it is not known. */
export function Known<Value>(props: {
  readonly of: Part<Value>;
  readonly children: (value: Value) => ReactNode;
}): ReactElement {
  const { is, problem } = props.of;
  return is === null ? (
    <p className="nothing" role="status">
      {OPS.problem(problem ?? OPS.unknown)}
    </p>
  ) : (
    <>{props.children(is)}</>
  );
}

/** The address of a record in its topic. */
export function recordQuery(topic: string, partition: number, offset: string): string {
  return new URLSearchParams({ topic, partition: String(partition), from: offset }).toString();
}
