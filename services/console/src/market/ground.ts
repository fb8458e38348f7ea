/**
 * Streets below the rides: from a PMTiles archive with the layers of Protomaps, in their style. Its
 * letters are drawn by the browser and it has no icons, so that it needs no other server.
 */
import { layers, namedFlavor } from '@protomaps/basemaps';
import {
  addProtocol,
  type ExpressionSpecification,
  type LayerSpecification,
  type SourceSpecification,
} from 'maplibre-gl';
import { PMTiles, Protocol, TileType } from 'pmtiles';
import { MAP } from './text.ts';

/** A source, and the layers that draw it. */
export interface Ground {
  readonly source: SourceSpecification;
  readonly layersOf: (isDark: boolean) => readonly LayerSpecification[];
}

/** Where no archive says another. */
const ATTRIBUTION =
  '<a href="https://protomaps.com">Protomaps</a> © <a href="https://www.openstreetmap.org/copyright">OpenStreetMap</a>';
const MAGIC = 'PMTiles';
/** Without one of these there is nothing to see. */
const DRAWN = new Set(['earth', 'water', 'roads']);

const protocol = new Protocol();
addProtocol('pmtiles', protocol.tile);

/**
 * `source`: its name in the style; `face`: the fonts of its letters. Rejects with an error whose
 * message says to people why there are no streets.
 */
export async function openGround(url: string, source: string, face: string[]): Promise<Ground> {
  await check(url);
  const archive = new PMTiles(url);
  const header = await archive.getHeader().catch(() => refuse(MAP.ground.none));
  if (header.tileType !== TileType.Mvt) refuse(MAP.ground.none);
  const metadata: unknown = await archive.getMetadata().catch(() => refuse(MAP.ground.none));
  if (!layerIds(metadata).some((id) => DRAWN.has(id))) refuse(MAP.ground.others);
  protocol.add(archive);
  return {
    source: {
      type: 'vector',
      tiles: [`pmtiles://${url}/{z}/{x}/{y}`],
      minzoom: header.minZoom,
      maxzoom: header.maxZoom,
      bounds: [header.minLon, header.minLat, header.maxLon, header.maxLat],
      attribution: textIn(metadata, 'attribution') ?? ATTRIBUTION,
    },
    layersOf: (isDark) => layersOf(source, isDark, face),
  };
}

function refuse(why: string): never {
  throw new Error(why);
}

/** The package has one error for all of these, and its text is for developers. */
async function check(url: string): Promise<void> {
  const abort = new AbortController();
  const headers = { range: `bytes=0-${MAGIC.length - 1}` };
  const response = await fetch(url, { headers, signal: abort.signal }).catch(() =>
    refuse(MAP.ground.away(new URL(url).host)),
  );
  // a whole archive may be gigabytes
  if (response.status === 200) {
    abort.abort();
    refuse(MAP.ground.whole);
  }
  if (response.status !== 206) refuse(MAP.ground.status(response.status));
  if ((await response.text()) !== MAGIC) refuse(MAP.ground.none);
}

function textIn(metadata: unknown, name: string): string | undefined {
  if (typeof metadata !== 'object' || metadata === null) return undefined;
  const value: unknown = Reflect.get(metadata, name);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function layerIds(metadata: unknown): readonly string[] {
  if (typeof metadata !== 'object' || metadata === null) return [];
  const named: unknown = Reflect.get(metadata, 'vector_layers');
  return Array.isArray(named) ? named.map((each: unknown) => textIn(each, 'id') ?? '') : [];
}

/** Icons are pictures of a server. */
const OF_ICONS = new Set(['roads_oneway', 'roads_shields', 'pois']);

function layersOf(source: string, isDark: boolean, face: string[]): readonly LayerSpecification[] {
  return (
    layers(source, namedFlavor(isDark ? 'dark' : 'light'), { lang: 'en' })
      // outlines go on where the archive ends
      .filter(({ id, type }) => type !== 'background' && !OF_ICONS.has(id))
      .map((layer) => (layer.type === 'symbol' ? withLetters(layer, face) : layer))
  );
}

type Symbols = Extract<LayerSpecification, { type: 'symbol' }>;

/** The texts of the style mix the fonts of several scripts. */
const NAME: ExpressionSpecification = ['coalesce', ['get', 'name:en'], ['get', 'name'], ''];

function withLetters(layer: Symbols, face: string[]): Symbols {
  const { 'icon-image': _icon, ...layout } = layer.layout ?? {};
  const named = layer.id === 'address_label' ? layout : { ...layout, 'text-field': NAME };
  return { ...layer, layout: { ...named, 'text-font': face } };
}
