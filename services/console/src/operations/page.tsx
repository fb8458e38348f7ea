/** The frame: sign-in first, then the pages under one bar. */
import { useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect, useState, type ReactElement } from 'react';
import type { Operations } from '../../../../schemas/operations-api/answers.ts';
import { ServiceError } from '../api/service.ts';
import icon from '../design/icon.svg';
import { Button } from '../design/parts.tsx';
import { localClock, shortened } from '../format.ts';
import { ask } from './api.ts';
import { DepositPage, DepositsPage } from './deposits.tsx';
import { OverviewPage } from './overview.tsx';
import { RecordsPage } from './records.tsx';
import { SessionContext, useAsked, usePlace, type SignedIn } from './session.ts';
import { SignIn } from './sign-in.tsx';
import { OPS } from './text.ts';

export function OperationsPage(): ReactElement {
  const queries = useQueryClient();
  const [session, setSession] = useState<SignedIn>();
  const [note, setNote] = useState<string>();
  const end = useCallback(
    (why: string | undefined) => {
      setSession(undefined);
      setNote(why);
      queries.clear();
    },
    [queries],
  );
  useEffect(() => {
    if (session === undefined) return;
    const left = Math.max(0, session.expires_at - Date.now());
    const timer = setTimeout(() => end(OPS.signIn.expired), left);
    return () => clearTimeout(timer);
  }, [session, end]);
  if (session === undefined)
    return (
      <>
        <Bar />
        <main className="page">
          <SignIn note={note} onSession={setSession} />
        </main>
      </>
    );
  const signOut = (): void => {
    void ask('sign-out', session.token, { body: {} }).catch(() => undefined);
    end(undefined);
  };
  return (
    <SessionContext value={session}>
      <Bar session={session} onSignOut={signOut} />
      <main className="page">
        <Pages onEnded={end} />
      </main>
    </SessionContext>
  );
}

function Bar(props: {
  readonly session?: SignedIn;
  readonly onSignOut?: () => void;
}): ReactElement {
  const { path } = usePlace();
  const link = (to: string, text: string): ReactElement => {
    const isActive = to === '/' ? path === '/' : path.startsWith(to);
    return (
      <a
        href={`#${to}`}
        data-status={isActive ? 'active' : undefined}
        aria-current={isActive ? 'page' : undefined}
      >
        {text}
      </a>
    );
  };
  const { session } = props;
  return (
    <div className="bar">
      <div className="bar-inside">
        <a href="#/" className="brand">
          <img src={icon} alt="" />
          {OPS.name}
        </a>
        {session !== undefined && (
          <>
            <nav aria-label={OPS.nav.label}>
              {link('/', OPS.nav.overview)}
              {link('/deposits', OPS.nav.deposits)}
              {link('/records', OPS.nav.records)}
            </nav>
            <span className="session quiet">
              {OPS.session.until(shortened(session.operator), localClock(session.expires_at))}
              <Button onClick={props.onSignOut}>{OPS.session.out}</Button>
            </span>
          </>
        )}
      </div>
    </div>
  );
}

const DEPOSIT = /^\/deposits\/([0-9a-f-]{36})$/;

function Pages(props: { readonly onEnded: (why: string) => void }): ReactElement {
  const { path } = usePlace();
  const operations = useAsked<Operations>('operations');
  const { error } = operations;
  const isEnded = error instanceof ServiceError && error.status === 401;
  const { onEnded } = props;
  useEffect(() => {
    if (isEnded) onEnded(OPS.signIn.expired);
  }, [isEnded, onEnded]);
  const [, id] = DEPOSIT.exec(path) ?? [];
  if (id !== undefined) return <DepositPage key={id} id={id} />;
  if (path === '/deposits') return <DepositsPage of={operations} />;
  if (path === '/records') return <RecordsPage />;
  return <OverviewPage of={operations} />;
}
