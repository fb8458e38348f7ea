/** The outlines of countries, loaded once: the map draws them, and places are named by them. */
import type { FeatureCollection } from 'geojson';
import { useEffect, useState } from 'react';
import { feature, mesh } from 'topojson-client';
import type { GeometryCollection, Topology } from 'topojson-specification';
import worldUrl from 'world-atlas/countries-50m.json?url';
import type { Coordinates } from '../api/hub.ts';
import { countryAt, outlinesOf, type Outline } from './countries.ts';

export interface World {
  readonly land: FeatureCollection;
  readonly borders: FeatureCollection;
  readonly outlines: readonly Outline[];
}

let world: Promise<World> | undefined;

/** After it was rejected, the next call loads it again. */
export async function loadWorld(): Promise<World> {
  world ??= fetchWorld();
  try {
    return await world;
  } catch (error) {
    world = undefined;
    throw error;
  }
}

async function fetchWorld(): Promise<World> {
  const response = await fetch(worldUrl);
  const topology: Topology<{ countries: GeometryCollection<{ name: string }> }> =
    await response.json();
  const { countries } = topology.objects;
  const outlines = outlinesOf(feature(topology, countries).features);
  const borders = mesh(topology, countries, (one, other) => one !== other);
  return {
    // rings that go on across longitude 180: otherwise they are drawn back around the earth
    land: {
      type: 'FeatureCollection',
      features: outlines.map(({ rings }) => ({
        type: 'Feature',
        properties: {},
        geometry: { type: 'Polygon', coordinates: [...rings] },
      })),
    },
    borders: {
      type: 'FeatureCollection',
      features: [{ type: 'Feature', properties: {}, geometry: borders }],
    },
    outlines,
  };
}

/** The places that are looked up once; rides are shown again with each block. */
const KNOWN_MAX = 2_000;
const known = new Map<string, string | undefined>();

function countryOf(outlines: readonly Outline[], place: Coordinates): string | undefined {
  const key = `${place.latitude},${place.longitude}`;
  if (!known.has(key)) {
    if (known.size >= KNOWN_MAX) known.clear();
    known.set(key, countryAt(outlines, place));
  }
  return known.get(key);
}

/** Names the country of a place; undefined also until the outlines are there, and without them. */
export function useCountries(): (place: Coordinates) => string | undefined {
  const [outlines, setOutlines] = useState<readonly Outline[]>([]);
  useEffect(() => {
    let isShown = true;
    loadWorld().then(
      (loaded) => isShown && setOutlines(loaded.outlines),
      // a place is of use without a name
      () => undefined,
    );
    return () => void (isShown = false);
  }, []);
  return (place) => (outlines.length === 0 ? undefined : countryOf(outlines, place));
}
