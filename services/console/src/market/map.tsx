/**
 * The map, by MapLibre: outlines of countries from a package, degrees as a grid, and tiles where
 * the settings name some: pictures, or streets of an archive. Points that are close are one. A trip
 * is an arc from its pickup to its dropoff that fills as its fare is paid, with a point at the end
 * of the paid part.
 */
import type { Feature, FeatureCollection, LineString, Point } from 'geojson';
import {
  Map as MapView,
  NavigationControl,
  ScaleControl,
  setWorkerUrl,
  type GeoJSONSource,
  type LayerSpecification,
  type StyleSpecification,
} from 'maplibre-gl';
import 'maplibre-gl/dist/maplibre-gl.css';
import workerUrl from 'maplibre-gl/dist/maplibre-gl-worker.mjs?url';
import { useEffect, useRef, type ReactElement } from 'react';
import type { ActiveTrip, Bounds, Coordinates, OpenRequest } from '../api/hub.ts';
import { colorOf, useIsDark } from '../design/scheme.ts';
import { shareOf } from '../format.ts';
import { TEXT } from '../text.ts';
import type { Ground } from './ground.ts';
import { arcOf, boundsOfMost, partOf, type Position } from './places.ts';
import { loadWorld } from './world.ts';

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
  /** There is a first frame, or none can be drawn any more. */
  readonly onDrawn: (isDrawn: boolean) => void;
  /** There are no streets, although tiles are set; in words. */
  readonly onNoGround: (why: string) => void;
}

/** Options of a source whose points become one where they are close to each other. */
const CLUSTERED = { cluster: true, clusterMaxZoom: 13, clusterRadius: 44 } as const;
const ZOOM_MAX = 18;
const MOVE_MS = 600;
const PADDING = 48;

const FACE = ['system-ui', 'sans-serif'];
/** The source of tiles. */
const GROUND = 'ground';

/** `paid`: the paid parts of trips; `heads`: the points where they end. */
type Sources = Readonly<
  Record<'requests' | 'trips' | 'paid' | 'heads' | 'selected', FeatureCollection>
>;

function collection<Of extends Feature>(
  features: Of[],
): { type: 'FeatureCollection'; features: Of[] } {
  return { type: 'FeatureCollection', features };
}

function positionOf({ longitude, latitude }: Coordinates): Position {
  return [longitude, latitude];
}

function pointAt(coordinates: Position, hash: string): Feature<Point> {
  return { type: 'Feature', properties: { hash }, geometry: { type: 'Point', coordinates } };
}

function arc(coordinates: Position[], hash: string): Feature<LineString> {
  return { type: 'Feature', properties: { hash }, geometry: { type: 'LineString', coordinates } };
}

/** Pictures of a server that makes one for each place. */
function picturesOf(tilesUrl: string): Ground {
  const attribution = new URL(tilesUrl).host;
  return {
    source: { type: 'raster', tiles: [tilesUrl], tileSize: 256, attribution },
    layersOf: () => [{ id: GROUND, type: 'raster', source: GROUND }],
  };
}

function styleOf(sources: Sources, under: Ground | undefined, isDark: boolean): StyleSpecification {
  const [ground, land, border] = [
    colorOf('--map-sea'),
    colorOf('--map-land'),
    colorOf('--map-border'),
  ];
  const [accent, second, surface] = [
    colorOf('--accent'),
    colorOf('--series-2'),
    colorOf('--surface'),
  ];
  const [ink, warn] = [colorOf('--ink'), colorOf('--warn')];
  return {
    version: 8,
    sources: {
      land: { type: 'geojson', data: collection([]), maxzoom: 6 },
      borders: { type: 'geojson', data: collection([]), maxzoom: 6 },
      grid: { type: 'geojson', data: collection([]) },
      ...(under !== undefined && { [GROUND]: under.source }),
      requests: { type: 'geojson', data: sources.requests, ...CLUSTERED },
      trips: { type: 'geojson', data: sources.trips },
      paid: { type: 'geojson', data: sources.paid },
      heads: { type: 'geojson', data: sources.heads, ...CLUSTERED },
      selected: { type: 'geojson', data: sources.selected },
    },
    layers: [
      { id: 'sea', type: 'background', paint: { 'background-color': ground } },
      { id: 'land', type: 'fill', source: 'land', paint: { 'fill-color': land } },
      lineLayer('borders', 'butt', border, 0.75),
      lineLayer('grid', 'butt', border, 0.5, { 'line-dasharray': [2, 3] }),
      ...(under?.layersOf(isDark) ?? []),
      lineLayer('trips', 'round', second, 2, { 'line-opacity': 0.35 }),
      lineLayer('paid', 'round', second, 4),
      ...pointLayers('heads', second),
      ...pointLayers('requests', accent),
      {
        ...lineLayer('selected', 'round', warn, 3),
        filter: ['==', ['geometry-type'], 'LineString'],
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

type LineLayer = Extract<LayerSpecification, { type: 'line' }>;

/** The lines of a source, with these ends. */
function lineLayer(
  source: string,
  cap: 'butt' | 'round',
  stroke: string,
  width: number,
  more: LineLayer['paint'] = {},
): LineLayer {
  return {
    id: source,
    type: 'line',
    source,
    layout: { 'line-cap': cap },
    paint: { 'line-color': stroke, 'line-width': width, ...more },
  };
}

/** The points of a source, and one with a number for those that are close to each other. */
function pointLayers(source: 'requests' | 'heads', fill: string): LayerSpecification[] {
  const isCluster = ['has', 'point_count'] as const;
  const around = { 'circle-stroke-color': colorOf('--surface'), 'circle-stroke-width': 2 };
  return [
    {
      id: `${source}-clusters`,
      type: 'circle',
      source,
      filter: [...isCluster],
      paint: {
        'circle-color': fill,
        'circle-radius': ['interpolate', ['linear'], ['get', 'point_count'], 2, 13, 500, 28],
        ...around,
      },
    },
    {
      id: `${source}-counts`,
      type: 'symbol',
      source,
      filter: [...isCluster],
      layout: {
        'text-field': ['get', 'point_count_abbreviated'],
        'text-font': FACE,
        'text-size': 12,
        'text-allow-overlap': true,
      },
      paint: { 'text-color': colorOf('--surface') },
    },
    {
      id: source,
      type: 'circle',
      source,
      filter: ['!', [...isCluster]],
      paint: { 'circle-color': fill, 'circle-radius': 6, ...around },
    },
  ];
}

const CLICKED = ['requests', 'heads', 'paid', 'trips'];
const CLUSTERS = ['requests-clusters', 'heads-clusters'];

/** A line each so many degrees, so that about eight cross the map. */
function grid(bounds: Bounds): FeatureCollection<LineString> {
  const steps = [30, 15, 10, 5, 2, 1, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002];
  const step = steps.find((each) => (bounds.maxLng - bounds.minLng) / each >= 8) ?? 0.001;
  const lines: Feature<LineString>[] = [];
  const add = (from: Position, to: Position): void => void lines.push(arc([from, to], ''));
  const [south, north] = [Math.max(-85, bounds.minLat), Math.min(85, bounds.maxLat)];
  for (let lng = Math.ceil(bounds.minLng / step); lng * step <= bounds.maxLng; lng++)
    add([lng * step, south], [lng * step, north]);
  for (let lat = Math.ceil(south / step); lat * step <= north; lat++)
    add([bounds.minLng, lat * step], [bounds.maxLng, lat * step]);
  return collection(lines);
}

class RideMap {
  readonly #map: MapView;
  readonly #handlers: { current: MapProps };
  #sources: Sources = {
    requests: collection([]),
    trips: collection([]),
    paid: collection([]),
    heads: collection([]),
    selected: collection([]),
  };
  /** of each trip, how far its point is */
  #shares = new Map<string, number>();
  #frame = 0;
  #isPlaced: boolean;
  #ground: Ground | undefined;
  #isDark: boolean;

  constructor(container: HTMLElement, handlers: { current: MapProps }, isDark: boolean) {
    this.#handlers = handlers;
    const { view, tilesUrl } = handlers.current;
    this.#isDark = isDark;
    const isArchive = tilesUrl?.endsWith('.pmtiles') === true;
    if (tilesUrl !== null && !isArchive) this.#ground = picturesOf(tilesUrl);
    this.#isPlaced = view !== undefined;
    this.#map = new MapView({
      container,
      style: styleOf(this.#sources, this.#ground, isDark),
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
      this.#update(this.#sources);
      void this.#drawWorld();
      this.#moved();
    });
    this.#map.once('render', () => handlers.current.onDrawn(true));
    this.#map.on('webglcontextlost', () => handlers.current.onDrawn(false));
    this.#map.on('webglcontextrestored', () => handlers.current.onDrawn(true));
    // for pictures and tests: everything is drawn
    this.#map.once('idle', () => (container.dataset['drawn'] = ''));
    if (isArchive) void this.#layGround(new URL(tilesUrl, location.href).href);
    this.#map.on('moveend', () => this.#moved());
    this.#map.on('click', ({ point }) => this.#clicked(point));
    this.#map.on('mousemove', ({ point }) => {
      const [found] = this.#map.queryRenderedFeatures(point, { layers: [...CLICKED, ...CLUSTERS] });
      this.#map.getCanvas().style.cursor = found === undefined ? '' : 'pointer';
    });
  }

  async #drawWorld(): Promise<void> {
    try {
      const { land, borders } = await loadWorld();
      this.#set('land', land);
      this.#set('borders', borders);
    } catch {
      // the map is of use without outlines; the next one loads them again
    }
  }

  /** The map is of use meanwhile. */
  async #layGround(url: string): Promise<void> {
    try {
      const { openGround } = await import('./ground.ts');
      this.#ground = await openGround(url, GROUND, FACE);
      this.restyle(this.#isDark);
      // for pictures and tests: how much of it is drawn
      this.#map.once('idle', () => {
        const drawn = this.#map.queryRenderedFeatures().filter(({ source }) => source === GROUND);
        this.#map.getContainer().dataset['ground'] = String(drawn.length);
      });
    } catch (error) {
      this.#handlers.current.onNoGround(error instanceof Error ? error.message : String(error));
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
    const [cluster] = this.#map.queryRenderedFeatures(around, { layers: CLUSTERS });
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

  #update(changed: Partial<Sources>): void {
    this.#sources = { ...this.#sources, ...changed };
    for (const [source, data] of Object.entries(changed)) this.#set(source, data);
  }

  /** Shows these rides; points of trips move to where they are now. */
  show({ requests, trips, selected }: MapProps): void {
    const chosen = [...requests, ...trips].find(({ txHash }) => txHash === selected);
    this.#update({
      requests: collection(
        requests.map((each) => pointAt(positionOf(each.pickupLocation), each.txHash)),
      ),
      trips: collection(
        trips.map((each) => arc(arcOf(each.pickupLocation, each.dropoffLocation), each.txHash)),
      ),
      selected: collection<Feature>(
        chosen === undefined
          ? []
          : [
              arc(arcOf(chosen.pickupLocation, chosen.dropoffLocation), chosen.txHash),
              pointAt(positionOf(chosen.pickupLocation), chosen.txHash),
              pointAt(positionOf(chosen.dropoffLocation), chosen.txHash),
            ],
      ),
    });
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
      const [paid, heads]: [Feature<LineString>[], Feature<Point>[]] = [[], []];
      for (const { pickupLocation, dropoffLocation, txHash } of trips) {
        const way = arcOf(pickupLocation, dropoffLocation);
        const part = partOf(way, this.#shares.get(txHash) ?? 0);
        if (part.length > 1) paid.push(arc(part, txHash));
        heads.push(pointAt(part.at(-1) ?? positionOf(pickupLocation), txHash));
      }
      this.#update({ paid: collection(paid), heads: collection(heads) });
      if (done < 1) this.#frame = requestAnimationFrame(step);
    };
    step();
  }

  #fit(rides: readonly (OpenRequest | ActiveTrip)[]): void {
    this.#isPlaced = true;
    const box = boundsOfMost(rides.flatMap((ride) => [ride.pickupLocation, ride.dropoffLocation]));
    if (box === undefined) return;
    this.#map.fitBounds(
      [
        [box.minLng, box.minLat],
        [box.maxLng, box.maxLat],
      ],
      { padding: PADDING, maxZoom: 12, duration: 0 },
    );
  }

  /** Takes the colours anew. */
  restyle(isDark: boolean): void {
    this.#isDark = isDark;
    this.#map.setStyle(styleOf(this.#sources, this.#ground, isDark), { diff: false });
  }

  close(): void {
    cancelAnimationFrame(this.#frame);
    this.#map.remove();
  }
}

/** Undefined where the browser refuses the context for drawing. */
function openMap(
  container: HTMLElement,
  handlers: { current: MapProps },
  isDark: boolean,
): RideMap | undefined {
  try {
    return new RideMap(container, handlers, isDark);
  } catch {
    handlers.current.onDrawn(false);
    return undefined;
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
    const opened = openMap(place.current, handlers, drawn.current);
    map.current = opened;
    return () => opened?.close();
  }, []);
  useEffect(() => {
    if (drawn.current !== isDark) map.current?.restyle(isDark);
    drawn.current = isDark;
  }, [isDark]);
  useEffect(() => {
    handlers.current = props;
    map.current?.show(props);
  });
  return <div ref={place} className="map" />;
}
