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

/** Leads to a record in its topic. */
export function RecordLink(props: {
  readonly topic: string;
  readonly partition: number;
  readonly offset: string;
}): ReactElement {
  const { topic, partition, offset } = props;
  const query = new URLSearchParams({ topic, partition: String(partition), from: offset });
  return (
    <a href={`#/records?${query.toString()}`}>
      {topic}/{partition}@{offset}
    </a>
  );
}
