/** The session of this page, and the place in it that the address names. */
import { useQuery, type UseQueryResult } from '@tanstack/react-query';
import { createContext, useContext, useSyncExternalStore } from 'react';
import type { Session } from '../../../../schemas/operations-api/answers.ts';
import { ask } from './api.ts';
import type { Signer } from './keys.ts';

export interface SignedIn extends Session {
  readonly signer: Signer;
}

export const SessionContext = createContext<SignedIn | undefined>(undefined);

export function useSession(): SignedIn {
  const session = useContext(SessionContext);
  if (session === undefined) throw new Error('a page of operators is shown without a session');
  return session;
}

/** The answer at this path; undefined: nothing is asked for. */
export function useAsked<Answer>(path: string | undefined): UseQueryResult<Answer> {
  const { token } = useSession();
  return useQuery({
    queryKey: [path, token],
    enabled: path !== undefined,
    queryFn: ({ signal }) => ask<Answer>(path ?? '', token, { signal }),
  });
}

/**
 * Behind #, so that a link between pages keeps the memory of this one. `path`: `/`, `/deposits`,
 * `/deposits/<id>` or `/records`.
 */
export function usePlace() {
  const hash = useSyncExternalStore(onHash, () => location.hash);
  const [path = '', query = ''] = hash.slice(1).split('?', 2);
  return { path: path === '' ? '/' : path, query: new URLSearchParams(query) };
}

function onHash(changed: () => void): () => void {
  addEventListener('hashchange', changed);
  return () => removeEventListener('hashchange', changed);
}
