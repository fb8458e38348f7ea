/** A PMTiles archive with one tile of a small city, in the layers of Protomaps. */
import { zxyToTileId } from 'pmtiles';

/** Around Berlin, some 45 km wide. */
const TILE = { z: 9, x: 275, y: 167 };
const EXTENT = 4_096;
const HEADER_BYTES = 127;

function varint(value: number): number[] {
  const bytes: number[] = [];
  for (; value > 127; value = Math.floor(value / 128)) bytes.push((value % 128) + 128);
  return [...bytes, value];
}

/** A field of a message of protobuf with a length. */
function field(number: number, bytes: ArrayLike<number>): number[] {
  return [...varint(number * 8 + 2), ...varint(bytes.length), ...Array.from(bytes)];
}

const number = (of: number, value: number): number[] => [...varint(of * 8), ...varint(value)];
const text = (value: string): Buffer => Buffer.from(value);
const zigzag = (value: number): number => (value < 0 ? -2 * value - 1 : 2 * value);

type Shape = readonly (readonly [number, number])[];
const TYPES = { point: 1, line: 2, polygon: 3 } as const;

interface TileFeature {
  readonly type: keyof typeof TYPES;
  readonly shape: Shape;
  readonly tags: Readonly<Record<string, string>>;
}

function geometry({ type, shape }: TileFeature): number[] {
  let [x, y] = [0, 0];
  const steps = shape.map(([toX, toY]) => {
    const step = [zigzag(toX - x), zigzag(toY - y)];
    [x, y] = [toX, toY];
    return step;
  });
  const [first = [], ...others] = steps;
  const lineTo = others.length === 0 ? [] : [others.length * 8 + 2, ...others.flat()];
  return [1 * 8 + 1, ...first, ...lineTo, ...(type === 'polygon' ? [15] : [])];
}

/** The place of a word in a list, which gets it if it lacks it. */
function indexIn(list: string[], word: string): number {
  return list.includes(word) ? list.indexOf(word) : list.push(word) - 1;
}

function layer(name: string, features: readonly TileFeature[]): number[] {
  const [keys, values]: [string[], string[]] = [[], []];
  const encoded = features.flatMap((each) => {
    const tags = Object.entries(each.tags).flatMap(([k, v]) => [
      indexIn(keys, k),
      indexIn(values, v),
    ]);
    return field(2, [
      ...field(2, tags.flatMap(varint)),
      ...number(3, TYPES[each.type]),
      ...field(4, geometry(each).flatMap(varint)),
    ]);
  });
  return field(3, [
    ...number(15, 2),
    ...field(1, text(name)),
    ...encoded,
    ...keys.flatMap((key) => field(3, text(key))),
    ...values.flatMap((value) => field(4, field(1, text(value)))),
    ...number(5, EXTENT),
  ]);
}

const square = (from: number, to: number): Shape => [
  [from, from],
  [to, from],
  [to, to],
  [from, to],
];

/** Streets each kilometre, a river, a park, and the names of a city and of its streets. */
function city(): Buffer {
  const ways = Array.from({ length: 40 }, (_, at) => at * 100 + 50);
  const road = (shape: Shape, at: number): TileFeature => ({
    type: 'line',
    shape,
    tags: {
      kind: at % 8 === 0 ? 'highway' : at % 2 === 0 ? 'major_road' : 'minor_road',
      name: `Street ${at}`,
    },
  });
  const roads = ways.flatMap((way, at) => [
    road(
      [
        [way, 0],
        [way + 60, EXTENT],
      ],
      at,
    ),
    road(
      [
        [0, way],
        [EXTENT, way + 90],
      ],
      at + 1,
    ),
  ]);
  const river: Shape = [
    [0, 1_800],
    [EXTENT, 2_600],
    [EXTENT, 2_660],
    [0, 1_860],
  ];
  return Buffer.from([
    ...layer('earth', [{ type: 'polygon', shape: square(0, EXTENT), tags: { kind: 'earth' } }]),
    ...layer('landuse', [{ type: 'polygon', shape: square(1_500, 1_900), tags: { kind: 'park' } }]),
    ...layer('water', [{ type: 'polygon', shape: river, tags: { kind: 'river' } }]),
    ...layer('roads', roads),
    ...layer('places', [
      {
        type: 'point',
        shape: [[2_048, 2_048]],
        tags: { kind: 'locality', name: 'Berlin', 'name:en': 'Berlin' },
      },
    ]),
  ]);
}

/** `layers`: ids of the layers that its metadata name. */
export function pmtiles(layers = ['earth', 'water', 'roads'], tileType = 1): Buffer {
  const tile = city();
  const metadata = text(JSON.stringify({ vector_layers: layers.map((id) => ({ id })) }));
  const directory = Buffer.from(
    // entries, their ids, how often each, lengths, offsets
    [1, zxyToTileId(TILE.z, TILE.x, TILE.y), 1, tile.length, 1].flatMap(varint),
  );
  const header = Buffer.alloc(HEADER_BYTES);
  header.write('PMTiles\u0003', 'latin1');
  const metadataAt = HEADER_BYTES + directory.length;
  const dataAt = metadataAt + metadata.length;
  const parts = [
    HEADER_BYTES,
    directory.length,
    metadataAt,
    metadata.length,
    0,
    0,
    dataAt,
    tile.length,
  ];
  for (const [at, value] of [...parts, 1, 1, 1].entries())
    header.writeBigUInt64LE(BigInt(value), 8 + 8 * at);
  // clustered, compression of directories and of tiles: none, kind of tiles, zooms
  header.set([1, 1, 1, tileType, TILE.z, TILE.z], 96);
  for (const [at, degrees] of [13, 52, 14, 53].entries())
    header.writeInt32LE(degrees * 10_000_000, 102 + 4 * at);
  return Buffer.concat([header, directory, metadata, tile]);
}
