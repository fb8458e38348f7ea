/** The rides of the first page; their script comes after that of the chain. */
import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { later } from '../design/later.tsx';
import { Panel } from '../design/parts.tsx';
import { WithService } from '../design/with-service.tsx';
import { TEXT } from '../text.ts';
import { CHAIN } from './text.ts';

const Rides = later<{ readonly hubUrl: string }>(
  'newest rides',
  async () => (await import('./rides.tsx')).Rides,
);

export function RidesPanel(): ReactElement {
  return (
    <Panel title={CHAIN.rides.title} aside={<Link to="/market">{TEXT.market.title}</Link>}>
      <WithService name="hub_url">{(hubUrl) => <Rides hubUrl={hubUrl} />}</WithService>
    </Panel>
  );
}
