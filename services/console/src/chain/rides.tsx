/** The newest rides, as the hub sends them after each change. */
import { Link } from '@tanstack/react-router';
import type { ReactElement, ReactNode } from 'react';
import { NEWEST_RIDES, useSubscription, type Live } from '../api/hub.ts';
import { Amount, Answer, Figures, Table } from '../design/parts.tsx';
import { grouped, localClock, shareOf, shortened } from '../format.ts';
import { TEXT } from '../text.ts';
import { CHAIN } from './text.ts';

/** The hub is asked for no more of a kind. */
const COUNTED_MAX = 100;
const ROWS = 3;

interface Ride {
  readonly txHash: string;
  readonly fare: string;
  /** of a trip */
  readonly farePaid?: string;
}

export function Rides({ hubUrl }: { readonly hubUrl: string }): ReactElement {
  const limit = { limit: COUNTED_MAX };
  const open = useSubscription<readonly Ride[]>(hubUrl, NEWEST_RIDES.open, limit);
  const active = useSubscription<readonly Ride[]>(hubUrl, NEWEST_RIDES.active, limit);
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
        isTrip
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

function Kind(props: {
  readonly title: string;
  readonly of: Live<readonly Ride[]>;
  readonly figureOf: (rides: readonly Ride[]) => ReactNode;
  readonly empty: string;
  /** whose fare is being paid */
  readonly isTrip?: boolean;
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
                {
                  name: TEXT.market.fare,
                  cell: ({ fare }) => <Amount of={fare} />,
                  isNumber: true,
                },
                ...(props.isTrip === true
                  ? [
                      {
                        name: TEXT.market.paid,
                        cell: ({ fare, farePaid = '0' }: Ride) =>
                          `${Math.floor(shareOf(farePaid, fare) * 100)} %`,
                        isNumber: true,
                      },
                    ]
                  : []),
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
