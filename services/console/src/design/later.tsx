/** Parts of a page that need something which is not there at once. */
import { useQuery } from '@tanstack/react-query';
import type { ReactElement, ReactNode } from 'react';
import { useSettings, type ConsoleSettings } from '../api/settings.ts';
import { TEXT } from '../text.ts';
import { Answer } from './parts.tsx';

/** A part whose script is loaded when it is first shown, and asked for again while it is away. */
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

/** A part that needs a service which a deployment may be without. */
export function WithService(props: {
  readonly name: 'hub_url' | 'deposits_url';
  readonly children: (url: string, settings: ConsoleSettings) => ReactNode;
}): ReactElement {
  const settings = useSettings();
  return (
    <Answer of={settings}>
      {(known) => {
        const url = known[props.name];
        return url === null ? (
          <div className="nothing" role="status">
            <h2>{TEXT.states.notSetUp}</h2>
            <p>{TEXT.states.notSetUpNext[props.name]}</p>
          </div>
        ) : (
          props.children(url, known)
        );
      }}
    </Answer>
  );
}
