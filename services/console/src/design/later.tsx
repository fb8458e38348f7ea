/** A page whose script is loaded when it is first opened, and asked for again while it is away. */
import { useQuery } from '@tanstack/react-query';
import type { ReactElement } from 'react';
import { Answer } from './parts.tsx';

export function later(name: string, load: () => Promise<() => ReactElement>): () => ReactElement {
  return function Later(): ReactElement {
    const script = useQuery({
      queryKey: ['script', name],
      queryFn: async () => ({ Page: await load() }),
      refetchInterval: ({ state }) => (state.data === undefined ? 1_000 : false),
      staleTime: Number.POSITIVE_INFINITY,
      structuralSharing: false,
    });
    return <Answer of={script}>{({ Page }) => <Page />}</Answer>;
  };
}
