/**
 * The heading of a page, and the title of its tab. After a navigation within the page the focus
 * moves to the heading, and the title is told to screen readers, as after a load.
 */
import { useMatch } from '@tanstack/react-router';
import { useEffect, useRef, useSyncExternalStore, type ReactElement, type ReactNode } from 'react';
import { titleOf } from '../../../../schemas/explorer-api/words.ts';
import { isMissing } from '../api/service.ts';
import { CHAIN } from '../chain/text.ts';

/** The path of the page whose heading has had its turn; the first was loaded as a document. */
let place: string | undefined;
let hasMoved = false;
let told = '';
const listeners = new Set<() => void>();

function tell(title: string): void {
  told = title;
  for (const each of listeners) each();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/** Tells the title of each page that is opened after the first, and what becomes of it. */
export function Announcer(): ReactElement {
  const title = useSyncExternalStore(subscribe, () => told);
  return (
    <p className="unseen" aria-live="polite">
      {title}
    </p>
  );
}

/** The path of the page that is shown: the location is already that of the next while it loads. */
function usePath(): string {
  return useMatch({ strict: false, select: ({ pathname }) => pathname });
}

/** `tab`: such as `Block 12`. */
export function useTab(tab: string): void {
  const pathname = usePath();
  const title = titleOf(tab);
  useEffect(() => {
    document.title = title;
    if (hasMoved) tell(title);
  }, [pathname, title]);
}

export function Heading(props: {
  readonly title: string;
  /** default: the title */
  readonly tab?: string | undefined;
  /** of the answer that the page shows */
  readonly error?: Error | null;
  /** shown beside it */
  readonly children?: ReactNode;
}): ReactElement {
  const heading = useRef<HTMLHeadingElement>(null);
  const pathname = usePath();
  useEffect(() => {
    const before = place;
    place = pathname;
    if (before === undefined || before === pathname) return;
    hasMoved = true;
    // a reader who has begun to type goes on
    if (!(document.activeElement instanceof HTMLInputElement))
      heading.current?.focus({ preventScroll: true });
  }, [pathname]);
  const { title, tab, error = null } = props;
  useTab(isMissing(error) ? CHAIN.tabs.of(title, CHAIN.tabs.missing) : (tab ?? title));
  return (
    <header>
      <h1 ref={heading} tabIndex={-1}>
        {title}
      </h1>
      {props.children}
    </header>
  );
}
