import { Link, useNavigate, useRouter, useSearch } from '@tanstack/react-router';
import { lazy, Suspense, useCallback, useEffect, useRef, useState, type ReactElement } from 'react';
import {
  REQUESTS,
  RIDE,
  TRIPS,
  useSubscription,
  type ActiveTrip,
  type Bounds,
  type Live,
  type OpenRequest,
  type Ride,
} from '../api/hub.ts';
import { FARE, PAID } from '../chain/rides.tsx';
import {
  Amount,
  AnswerPanel,
  Button,
  Figures,
  Note,
  Table,
  type Column,
} from '../design/parts.tsx';
import { WithService } from '../design/later.tsx';
import { coordinatesText, grouped, shortened } from '../format.ts';
import { Heading } from '../design/heading.tsx';
import { TEXT } from '../text.ts';
import type { View } from './map.tsx';
import { isWithin } from './places.ts';
import { RideSteps, StatusTag } from './story.tsx';
import { MAP } from './text.ts';
import { useCountries } from './world.ts';

const MarketMap = lazy(async () => ({ default: (await import('./map.tsx')).MarketMap }));

/** The most rides of each kind on the map; the hub sends the newest. */
const SHOWN_MAX = 500;
/** The most in a list. */
const LISTED_MAX = 100;

export function MarketPage(): ReactElement {
  return (
    <>
      <Heading title={TEXT.nav.market}>
        <span className="quiet">{TEXT.market.what}</span>
      </Heading>
      <WithService name="hub_url">
        {(hubUrl, { tiles_url: tilesUrl }) => <Market hubUrl={hubUrl} tilesUrl={tilesUrl} />}
      </WithService>
    </>
  );
}

function viewOf(at: string | undefined): View | undefined {
  const [lat, lng, zoom] = (at ?? '').split(',').map(Number);
  if (lat === undefined || lng === undefined || zoom === undefined) return undefined;
  // Mercator ends at 85 degrees
  const isOnMap = Math.abs(lat) <= 85 && Math.abs(lng) <= 180 && zoom >= 0 && zoom <= 24;
  return isOnMap ? { lat, lng, zoom } : undefined;
}

/** Fewer digits than the pixels of the map would need make an address that people can read. */
function textOf({ lat, lng, zoom }: View): string {
  return [lat.toFixed(4), lng.toFixed(4), zoom.toFixed(1)].join(',');
}

const hasWebGl = (): boolean => document.createElement('canvas').getContext('webgl2') !== null;

/** A map without a first frame by then is no help; the lists are. */
const SLOW_S = 6;

/** `refused`: the browser has WebGL, and gives the map none, or takes it away. */
type MapState = 'absent' | 'drawing' | 'slow' | 'refused' | 'drawn';

function useMapState(): readonly [MapState, (isDrawn: boolean) => void] {
  const [state, setState] = useState<MapState>(() => (hasWebGl() ? 'drawing' : 'absent'));
  useEffect(() => {
    const late = (before: MapState): MapState => (before === 'drawing' ? 'slow' : before);
    const timer = setTimeout(() => setState(late), SLOW_S * 1_000);
    return () => clearTimeout(timer);
  }, []);
  const onDrawn = useCallback((isDrawn: boolean) => setState(isDrawn ? 'drawn' : 'refused'), []);
  return [state, onDrawn];
}

const NO_MAP: Readonly<Record<Exclude<MapState, 'drawn'>, string>> = {
  absent: TEXT.market.noMap,
  drawing: MAP.states.drawing,
  slow: MAP.states.slow(SLOW_S),
  refused: MAP.states.refused,
};

function Market(props: {
  readonly hubUrl: string;
  readonly tilesUrl: string | null;
}): ReactElement {
  const { hubUrl } = props;
  const words = TEXT.market;
  const countryOf = useCountries();
  const { at, ride } = useSearch({ from: '/market' });
  const router = useRouter();
  const navigate = useNavigate({ from: '/market' });
  const [bounds, setBounds] = useState<Bounds>();
  const [mapState, onDrawn] = useMapState();
  const [noGround, setNoGround] = useState<string>();
  const requests = useSubscription<readonly OpenRequest[]>(hubUrl, REQUESTS, {
    bounds,
    limit: SHOWN_MAX,
  });
  const trips = useSubscription<readonly ActiveTrip[]>(hubUrl, TRIPS, { limit: SHOWN_MAX });
  const onMove = useCallback(
    (view: View, shown: Bounds) => {
      setBounds(shown);
      // another page is under way: its navigation would be lost
      if (router.latestLocation.pathname !== '/market') return;
      void navigate({
        search: (search) => ({ ...search, at: textOf(view) }),
        replace: true,
        resetScroll: false,
      });
    },
    [navigate, router],
  );
  const select = useCallback(
    (hash: string | undefined) =>
      void navigate({ search: (search) => ({ ...search, ride: hash }), resetScroll: false }),
    [navigate],
  );
  const [open, active] = [requests.data ?? [], trips.data ?? []];
  const areKnown = requests.data !== undefined && trips.data !== undefined;
  const notes = [
    ...(open.length >= SHOWN_MAX ? [words.manyRequests(SHOWN_MAX)] : []),
    ...(active.length >= SHOWN_MAX ? [words.manyTrips(SHOWN_MAX)] : []),
  ];
  return (
    <>
      {areKnown && <Totals requests={open} trips={active} isWithin={bounds !== undefined} />}
      {notes.length > 0 && <Note>{notes.join(' ')}</Note>}
      <div className="market">
        <section className="panel market-map" aria-label={TEXT.market.map} data-state={mapState}>
          {mapState !== 'drawn' && (
            <p className="nothing" role="status">
              {NO_MAP[mapState]}
            </p>
          )}
          {mapState !== 'absent' && (
            <Suspense>
              <MarketMap
                requests={open}
                trips={active}
                selected={ride}
                view={viewOf(at)}
                tilesUrl={props.tilesUrl}
                onMove={onMove}
                onSelect={select}
                onDrawn={onDrawn}
                onNoGround={setNoGround}
              />
            </Suspense>
          )}
          {noGround !== undefined && <Note>{noGround}</Note>}
          {mapState === 'drawn' && bounds !== undefined && areKnown && (
            <p className="map-count">{countText(bounds, open, active)}</p>
          )}
          <p className="map-legend">
            <span>
              <span className="dot" data-kind="request" /> {TEXT.market.requests}
            </span>
            <span>
              <span className="dot" data-kind="trip" /> {MAP.legend}
            </span>
            <span className="legend-end">{TEXT.market.outlines}</span>
          </p>
        </section>
        <div className="market-list">
          {ride !== undefined && (
            <Selected hubUrl={hubUrl} hash={ride} onClose={() => select(undefined)} />
          )}
          <Rides
            title={words.requests}
            one={words.request}
            of={requests}
            empty={words.noRequests}
            columns={[
              {
                name: TEXT.ride.pickup,
                cell: ({ pickupLocation }: OpenRequest) => (
                  <>
                    {coordinatesText(pickupLocation, 2)}
                    <span className="place-name">{countryOf(pickupLocation)}</span>
                  </>
                ),
                isNumber: true,
                isWide: true,
              },
              FARE,
            ]}
          />
          <Rides
            title={words.trips}
            one={words.trip}
            of={trips}
            empty={words.noTrips}
            columns={[PAID, FARE]}
          />
        </div>
      </div>
    </>
  );
}

/** Requests are those of the map already; of all trips those in view are counted. */
function countText(
  bounds: Bounds,
  requests: readonly OpenRequest[],
  trips: readonly ActiveTrip[],
): string {
  const seen = trips.filter(
    ({ pickupLocation, dropoffLocation }) =>
      isWithin(pickupLocation, bounds) || isWithin(dropoffLocation, bounds),
  );
  return MAP.here(MAP.requests(requests.length), grouped(seen.length), MAP.trips(trips.length));
}

function sum(amounts: readonly string[]): string {
  return String(amounts.reduce((total, amount) => total + BigInt(amount), 0n));
}

function Totals(props: {
  readonly requests: readonly OpenRequest[];
  readonly trips: readonly ActiveTrip[];
  /** whether requests are those within the map */
  readonly isWithin: boolean;
}): ReactElement {
  const { requests, trips } = props;
  const words = TEXT.market;
  const escrow = trips.map(({ fare, farePaid }) => String(BigInt(fare) - BigInt(farePaid)));
  return (
    <Figures
      of={[
        [props.isWithin ? words.requestsHere : words.requests, grouped(requests.length)],
        [words.asked, <Amount of={sum(requests.map(({ fare }) => fare))} />],
        [words.trips, grouped(trips.length)],
        [words.escrow, <Amount of={sum(escrow)} />],
      ]}
    />
  );
}

/** The newest of the open requests, or of the active trips. */
function Rides<Of extends { readonly txHash: string }>(props: {
  readonly title: string;
  readonly one: string;
  readonly of: Live<readonly Of[]>;
  readonly empty: string;
  readonly columns: readonly Column<Of>[];
}): ReactElement {
  const { title, of } = props;
  const count = of.data?.length ?? 0;
  const listed = count > LISTED_MAX && TEXT.market.listed(LISTED_MAX, count);
  return (
    <AnswerPanel
      title={title}
      aside={listed !== false && <span className="quiet">{listed}</span>}
      of={of}
      words={TEXT.away.hub}
    >
      {(rides) => (
        <Table
          label={title}
          items={rides.slice(0, LISTED_MAX)}
          keyOf={({ txHash }) => txHash}
          empty={props.empty}
          columns={[
            { name: props.one, cell: ({ txHash }) => <Choice hash={txHash} /> },
            ...props.columns,
          ]}
        />
      )}
    </AnswerPanel>
  );
}

/** Selects a ride on the map; its whole story is a link further. */
function Choice({ hash }: { readonly hash: string }): ReactElement {
  return (
    <Link
      to="/market"
      search={(search) => ({ ...search, ride: hash })}
      resetScroll={false}
      className="hash"
      title={hash}
    >
      {shortened(hash)}
    </Link>
  );
}

function Selected(props: {
  readonly hubUrl: string;
  readonly hash: string;
  readonly onClose: () => void;
}): ReactElement {
  const place = useRef<HTMLDivElement>(null);
  // on a phone it is far from the row that was chosen
  useEffect(() => {
    place.current?.scrollIntoView({ block: 'nearest' });
  }, [props.hash]);
  const ride = useSubscription<Ride | null>(props.hubUrl, RIDE, { hash: props.hash });
  return (
    <div ref={place} className="market-selected">
      <AnswerPanel
        title={TEXT.market.selected}
        aside={
          <span className="row">
            {ride.data !== undefined && ride.data !== null && <StatusTag of={ride.data} />}
            <Link to="/market/trips/$hash" params={{ hash: props.hash }}>
              {TEXT.market.story}
            </Link>
            <Button onClick={props.onClose}>{TEXT.keys.close}</Button>
          </span>
        }
        of={ride}
        words={TEXT.away.hub}
      >
        {(shown) => (
          <div className="inside">
            {shown === null ? (
              <p className="quiet">{TEXT.ride.none}</p>
            ) : (
              <RideSteps ride={shown} />
            )}
          </div>
        )}
      </AnswerPanel>
    </div>
  );
}
