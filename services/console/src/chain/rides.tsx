/** The newest rides, as the hub sends them after each change. */
import { Link } from '@tanstack/react-router';
import type { ReactElement, ReactNode } from 'react';
import { NEWEST_RIDES, useSubscription, type Live } from '../api/hub.ts';
import { amounts } from '../design/columns.tsx';
import { Amount, Answer, Figures, Table, type Column } from '../design/parts.tsx';
import { grouped, localClock, shareOf, shortened } from '../format.ts';
import { TEXT } from '../text.ts';
import { CHAIN } from './text.ts';

/** The hub is asked for no more of a kind. */
const COUNTED_MAX = 100;
const ROWS = 3;

interface Ride {
  readonly txHash: string;
  readonly fare: string;
}

interface Trip extends Ride {
  readonly farePaid: string;
}

export const FARE: Column<Pick<Ride, 'fare'>> = amounts(TEXT.ride.fare, 'fare');
export const PAID: Column<Pick<Trip, 'fare' | 'farePaid'>> = {
  name: TEXT.ride.paid,
  cell: ({ fare, farePaid }) => `${Math.floor(shareOf(farePaid, fare) * 100)} %`,
  isNumber: true,
};

export function Rides({ hubUrl }: { readonly hubUrl: string }): ReactElement {
  const limit = { limit: COUNTED_MAX };
  const open = useSubscription<readonly Ride[]>(hubUrl, NEWEST_RIDES.open, limit);
  const active = useSubscription<readonly Trip[]>(hubUrl, NEWEST_RIDES.active, limit);
  const paid = useSubscription<readonly Ride[]>(hubUrl, NEWEST_RIDES.paid, { limit: ROWS });
  const words = CHAIN.rides;
  const newest = Math.max(
    0,
    ...[open, active, paid].map(({ error, dataUpdatedAt: at }) => (error === null ? at : 0)),
  );
  return (
    <div className="rides">
      <Kind title={words.open} of={open} figureOf={countOf} empty={TEXT.market.noRequests} />
      <Kind
        title={words.active}
        of={active}
        figureOf={countOf}
        empty={TEXT.market.noTrips}
        more={[PAID]}
      />
      <Kind title={words.paid} of={paid} figureOf={fareOfFirst} empty={words.nothingPaid} />
      {newest > 0 && <p className="moment">{words.moment(localClock(newest))}</p>}
    </div>
  );
}

function countOf(rides: readonly Ride[]): ReactNode {
  const count = grouped(rides.length);
  return rides.length < COUNTED_MAX ? count : CHAIN.rides.most(count);
}

function fareOfFirst([first]: readonly Ride[]): ReactNode {
  return first === undefined ? '–' : <Amount of={first.fare} />;
}

function Kind<Of extends Ride>(props: {
  readonly title: string;
  readonly of: Live<readonly Of[]>;
  readonly figureOf: (rides: readonly Of[]) => ReactNode;
  readonly empty: string;
  readonly more?: readonly Column<Of>[];
}): ReactElement {
  const { title } = props;
  return (
    <section aria-label={title}>
      <Answer of={props.of} words={TEXT.away.hub}>
        {(rides) => (
          <div className="kind">
            <Figures of={[[title, props.figureOf(rides)]]} />
            <Table
              label={title}
              items={rides.slice(0, ROWS)}
              keyOf={({ txHash }) => txHash}
              empty={props.empty}
              columns={[
                { name: TEXT.ride.title, cell: ({ txHash }) => <RideLink of={txHash} /> },
                FARE,
                ...(props.more ?? []),
              ]}
            />
          </div>
        )}
      </Answer>
    </section>
  );
}

function RideLink({ of }: { readonly of: string }): ReactElement {
  return (
    <Link to="/market/trips/$hash" params={{ hash: of }} className="hash" title={of}>
      {shortened(of)}
    </Link>
  );
}
