/**
 * The map, by MapLibre: outlines of countries from a package, degrees as a grid, and tiles where
 * the settings name some. Requests are clustered. A trip is a line from its pickup to its dropoff,
 * with a point that moves along it as its fare is paid.
 */
import type { Feature, FeatureCollection, LineString, Point } from 'geojson';
import { Map as MapView, setWorkerUrl, type StyleSpecification } from 'maplibre-gl';
import { NavigationControl, ScaleControl, type GeoJSONSource } from 'maplibre-gl';
import 'maplibre-gl/dist/maplibre-gl.css';
import workerUrl from 'maplibre-gl/dist/maplibre-gl-worker.mjs?url';
import { useEffect, useRef, type ReactElement } from 'react';
import { feature, mesh } from 'topojson-client';
import type { GeometryCollection, Topology } from 'topojson-specification';
import worldUrl from 'world-atlas/countries-50m.json?url';
import type { ActiveTrip, Bounds, Coordinates, OpenRequest } from '../api/hub.ts';
import { useIsDark } from '../design/scheme.ts';
import { shareOf } from '../format.ts';
import { TEXT } from '../text.ts';

setWorkerUrl(workerUrl);

export interface View {
  readonly lat: number;
  readonly lng: number;
  readonly zoom: number;
}

interface MapProps {
  readonly requests: readonly OpenRequest[];
  readonly trips: readonly ActiveTrip[];
  /** hash of a request or a trip */
  readonly selected: string | undefined;
  /** where to begin; undefined: where the rides are */
  readonly view: View | undefined;
  readonly tilesUrl: string | null;
  readonly onMove: (view: View, bounds: Bounds) => void;
  readonly onSelect: (hash: string) => void;
}

const CLUSTERED_TO_ZOOM = 13;
const CLUSTER_PIXELS = 44;
const ZOOM_MAX = 18;
const MOVE_MS = 600;
const PADDING = 48;

const FACE = ['system-ui', 'sans-serif'];

interface Sources {
  readonly requests: FeatureCollection<Point>;
  readonly trips: FeatureCollection<LineString>;
  readonly progress: FeatureCollection<Point>;
  readonly selected: FeatureCollection;
}

function collection<Of extends Feature>(
  features: Of[],
): { type: 'FeatureCollection'; features: Of[] } {
  return { type: 'FeatureCollection', features };
}

function positionOf({ longitude, latitude }: Coordinates): [number, number] {
  return [longitude, latitude];
}

function pointAt(coordinates: [number, number], hash: string): Feature<Point> {
  return { type: 'Feature', properties: { hash }, geometry: { type: 'Point', coordinates } };
}

/** The way that does not go around the earth. */
function line(from: Coordinates, to: Coordinates, hash: string): Feature<LineString> {
  const [begin, end] = [positionOf(from), positionOf(to)];
  if (end[0] - begin[0] > 180) end[0] -= 360;
  if (begin[0] - end[0] > 180) end[0] += 360;
  return {
    type: 'Feature',
    properties: { hash },
    geometry: { type: 'LineString', coordinates: [begin, end] },
  };
}

/** A point on the line of a trip. */
function along(trip: ActiveTrip, share: number): Feature<Point> {
  const { geometry } = line(trip.pickupLocation, trip.dropoffLocation, trip.txHash);
  const [[fromLng = 0, fromLat = 0] = [], [toLng = 0, toLat = 0] = []] = geometry.coordinates;
  const at = [fromLng + (toLng - fromLng) * share, fromLat + (toLat - fromLat) * share] as const;
  return pointAt([...at], trip.txHash);
}

function color(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function styleOf(sources: Sources, tilesUrl: string | null): StyleSpecification {
  const [ground, land, border] = [color('--map-sea'), color('--map-land'), color('--map-border')];
  const [accent, second, surface] = [color('--accent'), color('--series-2'), color('--surface')];
  const [ink, warn] = [color('--ink'), color('--warn')];
  const isCluster = ['has', 'point_count'] as const;
  return {
    version: 8,
    sources: {
      land: { type: 'geojson', data: collection([]), maxzoom: 6 },
      borders: { type: 'geojson', data: collection([]), maxzoom: 6 },
      grid: { type: 'geojson', data: collection([]) },
      ...(tilesUrl !== null && {
        tiles: {
          type: 'raster',
          tiles: [tilesUrl],
          tileSize: 256,
          attribution: new URL(tilesUrl).host,
        },
      }),
      requests: {
        type: 'geojson',
        data: sources.requests,
        cluster: true,
        clusterMaxZoom: CLUSTERED_TO_ZOOM,
        clusterRadius: CLUSTER_PIXELS,
      },
      trips: { type: 'geojson', data: sources.trips },
      progress: { type: 'geojson', data: sources.progress },
      selected: { type: 'geojson', data: sources.selected },
    },
    layers: [
      { id: 'sea', type: 'background', paint: { 'background-color': ground } },
      { id: 'land', type: 'fill', source: 'land', paint: { 'fill-color': land } },
      {
        id: 'borders',
        type: 'line',
        source: 'borders',
        paint: { 'line-color': border, 'line-width': 0.75 },
      },
      {
        id: 'grid',
        type: 'line',
        source: 'grid',
        paint: { 'line-color': border, 'line-width': 0.5, 'line-dasharray': [2, 3] },
      },
      ...(tilesUrl === null ? [] : [{ id: 'tiles', type: 'raster', source: 'tiles' } as const]),
      {
        id: 'trips',
        type: 'line',
        source: 'trips',
        layout: { 'line-cap': 'round' },
        paint: { 'line-color': second, 'line-width': 2, 'line-opacity': 0.55 },
      },
      {
        id: 'clusters',
        type: 'circle',
        source: 'requests',
        filter: [...isCluster],
        paint: {
          'circle-color': accent,
          'circle-radius': ['interpolate', ['linear'], ['get', 'point_count'], 2, 13, 500, 28],
          'circle-stroke-color': surface,
          'circle-stroke-width': 2,
        },
      },
      {
        id: 'counts',
        type: 'symbol',
        source: 'requests',
        filter: [...isCluster],
        layout: {
          'text-field': ['get', 'point_count_abbreviated'],
          'text-font': FACE,
          'text-size': 12,
          'text-allow-overlap': true,
        },
        paint: { 'text-color': surface },
      },
      {
        id: 'requests',
        type: 'circle',
        source: 'requests',
        filter: ['!', [...isCluster]],
        paint: {
          'circle-color': accent,
          'circle-radius': 6,
          'circle-stroke-color': surface,
          'circle-stroke-width': 2,
        },
      },
      {
        id: 'progress',
        type: 'circle',
        source: 'progress',
        paint: {
          'circle-color': second,
          'circle-radius': 6,
          'circle-stroke-color': surface,
          'circle-stroke-width': 2,
        },
      },
      {
        id: 'selected-route',
        type: 'line',
        source: 'selected',
        filter: ['==', ['geometry-type'], 'LineString'],
        layout: { 'line-cap': 'round' },
        paint: { 'line-color': warn, 'line-width': 3 },
      },
      {
        id: 'selected-ends',
        type: 'circle',
        source: 'selected',
        filter: ['==', ['geometry-type'], 'Point'],
        paint: {
          'circle-color': surface,
          'circle-radius': 6,
          'circle-stroke-color': ink,
          'circle-stroke-width': 3,
        },
      },
    ],
  };
}

const CLICKED = ['requests', 'progress', 'trips'];

/** A line each so many degrees, so that about eight cross the map. */
function grid(bounds: Bounds): FeatureCollection<LineString> {
  const steps = [30, 15, 10, 5, 2, 1, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002];
  const step = steps.find((each) => (bounds.maxLng - bounds.minLng) / each >= 8) ?? 0.001;
  const lines: Feature<LineString>[] = [];
  const add = (coordinates: [number, number][]): void =>
    void lines.push({
      type: 'Feature',
      properties: {},
      geometry: { type: 'LineString', coordinates },
    });
  const [south, north] = [Math.max(-85, bounds.minLat), Math.min(85, bounds.maxLat)];
  for (let lng = Math.ceil(bounds.minLng / step); lng * step <= bounds.maxLng; lng++)
    add([
      [lng * step, south],
      [lng * step, north],
    ]);
  for (let lat = Math.ceil(south / step); lat * step <= north; lat++)
    add([
      [bounds.minLng, lat * step],
      [bounds.maxLng, lat * step],
    ]);
  return collection(lines);
}

/** The outlines, loaded once. */
let world:
  Promise<{ readonly land: FeatureCollection; readonly borders: FeatureCollection }> | undefined;

async function loadWorld(): Promise<Awaited<NonNullable<typeof world>>> {
  const response = await fetch(worldUrl);
  const topology: Topology<{ countries: GeometryCollection }> = await response.json();
  const { countries } = topology.objects;
  const land = feature(topology, countries);
  const borders = mesh(topology, countries, (one, other) => one !== other);
  return { land, borders: collection([{ type: 'Feature', properties: {}, geometry: borders }]) };
}

class RideMap {
  readonly #map: MapView;
  readonly #handlers: { current: MapProps };
  #sources: Sources = {
    requests: collection([]),
    trips: collection([]),
    progress: collection([]),
    selected: collection([]),
  };
  /** of each trip, how far its point is */
  #shares = new Map<string, number>();
  #frame = 0;
  #isPlaced: boolean;

  constructor(container: HTMLElement, handlers: { current: MapProps }) {
    this.#handlers = handlers;
    const { view, tilesUrl } = handlers.current;
    this.#isPlaced = view !== undefined;
    this.#map = new MapView({
      container,
      style: styleOf(this.#sources, tilesUrl),
      center: view === undefined ? [10, 25] : [view.lng, view.lat],
      zoom: view?.zoom ?? 1,
      maxZoom: ZOOM_MAX,
      dragRotate: false,
      pitchWithRotate: false,
      attributionControl: tilesUrl === null ? false : { compact: false },
      locale: { 'Map.Title': TEXT.market.map },
    });
    this.#map.touchZoomRotate.disableRotation();
    this.#map.addControl(new NavigationControl({ showCompass: false }), 'top-right');
    this.#map.addControl(new ScaleControl(), 'bottom-left');
    this.#map.on('style.load', () => {
      // rides may have come before the style
      for (const [source, data] of Object.entries(this.#sources)) this.#set(source, data);
      void this.#drawWorld();
      this.#moved();
    });
    // for pictures and tests: everything is drawn
    this.#map.once('idle', () => (container.dataset['drawn'] = ''));
    this.#map.on('moveend', () => this.#moved());
    this.#map.on('click', ({ point }) => this.#clicked(point));
    this.#map.on('mousemove', ({ point }) => {
      const [found] = this.#map.queryRenderedFeatures(point, { layers: [...CLICKED, 'clusters'] });
      this.#map.getCanvas().style.cursor = found === undefined ? '' : 'pointer';
    });
  }

  async #drawWorld(): Promise<void> {
    world ??= loadWorld();
    try {
      const { land, borders } = await world;
      this.#set('land', land);
      this.#set('borders', borders);
    } catch {
      // the map is of use without outlines; the next one loads them again
      world = undefined;
    }
  }

  #moved(): void {
    const bounds = this.#map.getBounds();
    const shown = {
      minLat: Math.max(-90, bounds.getSouth()),
      maxLat: Math.min(90, bounds.getNorth()),
      minLng: bounds.getWest(),
      maxLng: bounds.getEast(),
    };
    this.#set('grid', grid(shown));
    const { lat, lng } = this.#map.getCenter();
    // before the rides are known there is nothing to place
    if (this.#isPlaced)
      this.#handlers.current.onMove({ lat, lng, zoom: this.#map.getZoom() }, shown);
  }

  #clicked(point: { readonly x: number; readonly y: number }): void {
    const around: [[number, number], [number, number]] = [
      [point.x - 4, point.y - 4],
      [point.x + 4, point.y + 4],
    ];
    const [cluster] = this.#map.queryRenderedFeatures(around, { layers: ['clusters'] });
    if (cluster?.geometry.type === 'Point') {
      const [lng = 0, lat = 0] = cluster.geometry.coordinates;
      this.#map.easeTo({ center: [lng, lat], zoom: this.#map.getZoom() + 2 });
      return;
    }
    const [found] = this.#map.queryRenderedFeatures(around, { layers: CLICKED });
    const hash: unknown = found?.properties['hash'];
    if (typeof hash === 'string') this.#handlers.current.onSelect(hash);
  }

  #set(source: string, data: FeatureCollection): void {
    void this.#map.getSource<GeoJSONSource>(source)?.setData(data);
  }

  /** Shows these rides; points of trips move to where they are now. */
  show({ requests, trips, selected }: MapProps): void {
    const chosen = [...requests, ...trips].find(({ txHash }) => txHash === selected);
    this.#sources = {
      ...this.#sources,
      requests: collection(
        requests.map((each) => pointAt(positionOf(each.pickupLocation), each.txHash)),
      ),
      trips: collection(
        trips.map((each) => line(each.pickupLocation, each.dropoffLocation, each.txHash)),
      ),
      selected: collection<Feature>(
        chosen === undefined
          ? []
          : [
              line(chosen.pickupLocation, chosen.dropoffLocation, chosen.txHash),
              pointAt(positionOf(chosen.pickupLocation), chosen.txHash),
              pointAt(positionOf(chosen.dropoffLocation), chosen.txHash),
            ],
      ),
    };
    this.#set('requests', this.#sources.requests);
    this.#set('trips', this.#sources.trips);
    this.#set('selected', this.#sources.selected);
    this.#advance(trips);
    if (!this.#isPlaced && requests.length + trips.length > 0) this.#fit([...requests, ...trips]);
  }

  #advance(trips: readonly ActiveTrip[]): void {
    cancelAnimationFrame(this.#frame);
    const before = this.#shares;
    const to = new Map(trips.map((trip) => [trip.txHash, shareOf(trip.farePaid, trip.fare)]));
    const moves = trips.some(
      ({ txHash }) => (before.get(txHash) ?? to.get(txHash)) !== to.get(txHash),
    );
    const isStill = !moves || matchMedia('(prefers-reduced-motion: reduce)').matches;
    const begun = performance.now();
    const step = (): void => {
      const done = isStill ? 1 : Math.min(1, (performance.now() - begun) / MOVE_MS);
      const eased = 1 - (1 - done) ** 3;
      this.#shares = new Map(
        [...to].map(([hash, share]) => {
          const from = before.get(hash) ?? share;
          return [hash, from + (share - from) * eased];
        }),
      );
      const progress = collection(
        trips.map((trip) => along(trip, this.#shares.get(trip.txHash) ?? 0)),
      );
      this.#sources = { ...this.#sources, progress };
      this.#set('progress', progress);
      if (done < 1) this.#frame = requestAnimationFrame(step);
    };
    step();
  }

  #fit(rides: readonly (OpenRequest | ActiveTrip)[]): void {
    this.#isPlaced = true;
    const places = rides.flatMap((ride) => [ride.pickupLocation, ride.dropoffLocation]);
    const [lats, lngs] = [
      places.map(({ latitude }) => latitude),
      places.map(({ longitude }) => longitude),
    ];
    this.#map.fitBounds(
      [
        [Math.min(...lngs), Math.min(...lats)],
        [Math.max(...lngs), Math.max(...lats)],
      ],
      { padding: PADDING, maxZoom: 12, duration: 0 },
    );
  }

  /** Takes the colours anew. */
  restyle(): void {
    this.#map.setStyle(styleOf(this.#sources, this.#handlers.current.tilesUrl), { diff: false });
  }

  close(): void {
    cancelAnimationFrame(this.#frame);
    this.#map.remove();
  }
}

export function MarketMap(props: MapProps): ReactElement {
  const place = useRef<HTMLDivElement>(null);
  const handlers = useRef(props);
  const map = useRef<RideMap>(undefined);
  const isDark = useIsDark();
  const drawn = useRef(isDark);
  useEffect(() => {
    if (place.current === null) return;
    const opened = new RideMap(place.current, handlers);
    map.current = opened;
    return () => opened.close();
  }, []);
  useEffect(() => {
    if (drawn.current !== isDark) map.current?.restyle();
    drawn.current = isDark;
  }, [isDark]);
  useEffect(() => {
    handlers.current = props;
    map.current?.show(props);
  });
  return <div ref={place} className="map" />;
}
