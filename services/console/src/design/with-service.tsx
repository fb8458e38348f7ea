/** A part of a page that needs a service which a deployment may be without. */
import type { ReactElement, ReactNode } from 'react';
import { useSettings, type ConsoleSettings } from '../api/settings.ts';
import { TEXT } from '../text.ts';
import { Answer } from './parts.tsx';

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
