import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { TEXT } from '../text.ts';

/** To the first page and to the one with further items; the browser's own "back" does the rest. */
export function Pager(props: {
  readonly cursor: string | undefined;
  readonly older: string | undefined;
  /** words of a list that does not begin with what is newest */
  readonly first?: string;
  readonly next?: string;
}): ReactElement | null {
  const { cursor, older } = props;
  if (cursor === undefined && older === undefined) return null;
  return (
    <nav className="pager" aria-label={TEXT.pager.pages}>
      {cursor === undefined ? (
        <span />
      ) : (
        <Link to="." search={(search: object) => ({ ...search, cursor: undefined })}>
          ← {props.first ?? TEXT.pager.newer}
        </Link>
      )}
      {older !== undefined && (
        <Link to="." search={(search: object) => ({ ...search, cursor: older })}>
          {props.next ?? TEXT.pager.older} →
        </Link>
      )}
    </nav>
  );
}
