/** A part whose script is loaded when it is first shown, and asked for again while it is away. */
import { useQuery } from '@tanstack/react-query';
import type { ReactElement } from 'react';
import { Answer } from './parts.tsx';

export function later<Props extends object = object>(
  name: string,
  load: () => Promise<(props: Props) => ReactElement>,
): (props: Props) => ReactElement {
  return function Later(props: Props): ReactElement {
    const script = useQuery({
      queryKey: ['script', name],
      queryFn: async () => ({ Part: await load() }),
      refetchInterval: ({ state }) => (state.data === undefined ? 1_000 : false),
      staleTime: Number.POSITIVE_INFINITY,
      structuralSharing: false,
    });
    return <Answer of={script}>{({ Part }) => <Part {...props} />}</Answer>;
  };
}
