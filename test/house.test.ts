/** The rules of the house. A rule is changed by editing the tables below, in a commit that says why. */
import { readdirSync, readFileSync, existsSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '..');
const LINES_MAX = 300;

interface Room {
  /** path prefix; the longest that fits a file is its room */
  readonly room: string;
  /** path prefixes of the files it may import, besides its own room */
  readonly rooms: readonly string[];
  /** packages it may import; '*' any */
  readonly packages: readonly string[];
  /** builtin modules it may import; '*' any */
  readonly builtins: readonly string[];
  /** no clock, randomness, waiting or process */
  readonly pure?: boolean;
}

const ROOMS: readonly Room[] = [
  { room: 'schemas', rooms: [], packages: ['ethers'], builtins: [], pure: true },
  { room: 'projections', rooms: ['schemas'], packages: [], builtins: [], pure: true },
  {
    room: 'services/runtime',
    rooms: [
      'schemas',
      'projections/projection.ts',
      'projections/bytes-index.ts',
      'projections/copy-rows.ts',
    ],
    packages: ['*'],
    builtins: ['*'],
  },
  {
    room: 'services/projector',
    rooms: ['schemas', 'projections', 'services/runtime'],
    packages: [],
    builtins: [],
  },
  {
    room: 'services/chain-ingester',
    rooms: ['schemas', 'projections/chain', 'services/runtime'],
    packages: ['kafkajs'],
    builtins: ['node:crypto'],
  },
  {
    room: 'services/explorer-gateway',
    rooms: [
      'schemas',
      'projections/page.ts',
      'projections/explorer/queries',
      'projections/reserve/queries.ts',
      'services/runtime',
    ],
    packages: ['express'],
    builtins: ['*'],
  },
  {
    room: 'services/hub-gateway',
    rooms: [
      'schemas',
      'projections/page.ts',
      'projections/ride_market/areas.ts',
      'projections/ride_market/queries.ts',
      'projections/explorer/queries',
      'services/runtime',
    ],
    packages: [
      'express',
      'graphql',
      '@apollo/server',
      'graphql-ws',
      'graphql-redis-subscriptions',
      'ws',
    ],
    builtins: ['node:crypto', 'node:fs', 'node:http', 'node:perf_hooks', 'node:stream'],
  },
  {
    room: 'services/treasury',
    rooms: [
      'schemas',
      'projections/projection.ts',
      'projections/deposits',
      'projections/chain',
      'projections/reserve',
      'services/runtime',
    ],
    // ethers: the mint authority signs here and nowhere else
    packages: ['kafkajs', 'ethers'],
    builtins: ['node:crypto'],
  },
  {
    room: 'services/tron-watcher',
    rooms: ['schemas', 'projections/page.ts', 'projections/watch', 'services/runtime'],
    packages: ['kafkajs'],
    builtins: ['node:crypto'],
  },
  {
    room: 'services/deposit-gateway',
    rooms: ['schemas', 'projections/deposits/queries.ts', 'services/runtime'],
    packages: ['express'],
    builtins: ['node:crypto', 'node:perf_hooks'],
  },
  {
    room: 'services/ops',
    // what is done on demand is done by the same code as on the schedule
    rooms: [
      'schemas',
      'projections',
      'services/runtime',
      'services/treasury/reconciliation',
      'services/projector/projections.ts',
    ],
    packages: ['kafkajs'],
    builtins: ['*'],
  },
  { room: 'infra', rooms: ['schemas'], packages: ['*'], builtins: ['*'] },
  {
    room: 'test',
    rooms: ['schemas', 'projections', 'services', 'infra'],
    packages: ['*'],
    builtins: ['*'],
  },
];

/** Of the runtime, what a gateway may not touch: it only reads. */
const NOT_FOR_GATEWAYS = [
  'runner',
  'apply-batch',
  'batches',
  'bulk-load',
  'carry',
  'checkpoint',
  'index-build',
  'live-tables',
  'load-state',
  'rebuild/rebuild',
  'rebuild/replay',
  'rebuild/sole-session',
  'rebuild/switch-tables',
  'rebuild/verify',
  'table-writer',
  'migrations',
  'log-reader',
  'log-range',
  'log-watch',
];

const IMPURE: readonly [RegExp, string][] = [
  [/\bDate\.now\b|\bnew Date\(\s*\)|\bperformance\b/, 'a clock'],
  [/\bMath\.random\b|\brandomUUID\b|\brandomBytes\b/, 'randomness'],
  [/\bawait\b|\basync\b/, 'waiting'],
  [/\bprocess\./, 'the process'],
  [/\bsetTimeout\b|\bsetInterval\b|\bfetch\(/, 'timers or the network'],
  [/\bMath\.fround\b|\bparseFloat\b|\btoLocale/, 'floating point or a locale'],
];

const FORBIDDEN_NAMES = /(^|[-/])(utils?|common|helpers?|manager|core|misc)([-./]|$)/;

interface Import {
  readonly specifier: string;
  /** path from the root, for a file */
  readonly file?: string;
}

function filesBelow(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)));
}

function importsOf(path: string, source: string): Import[] {
  const found = source.matchAll(
    /(?:^|\n)\s*(?:import|export)\b[^'";]*?from\s*'([^']+)'|(?:^|\n)\s*import\s*'([^']+)'|\bimport\(\s*'([^']+)'\s*\)/g,
  );
  return [...found].map(([, from, alone, dynamic]) => {
    const specifier = from ?? alone ?? dynamic ?? '';
    return specifier.startsWith('.')
      ? { specifier, file: relative(ROOT, join(ROOT, dirname(path), specifier)) }
      : { specifier };
  });
}

function roomOf(path: string): Room | undefined {
  return ROOMS.filter(({ room }) => path === room || path.startsWith(`${room}/`)).toSorted(
    (a, b) => b.room.length - a.room.length,
  )[0];
}

function isWithin(path: string, prefix: string): boolean {
  return path === prefix || path.startsWith(`${prefix}/`);
}

function packageOf(specifier: string): string {
  return specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');
}

function complaint(room: Room, { specifier, file }: Import): string | undefined {
  if (file !== undefined) {
    if (!file.endsWith('.ts') && !file.endsWith('.json'))
      return `imports ${specifier} without its ending`;
    if (
      room.room.endsWith('-gateway') &&
      NOT_FOR_GATEWAYS.some((name) => file === `services/runtime/${name}.ts`)
    )
      return `reaches for ${file}: gateways only read`;
    return [room.room, ...room.rooms].some((prefix) => isWithin(file, prefix))
      ? undefined
      : `imports ${file}`;
  }
  if (specifier.startsWith('node:'))
    return room.builtins.includes('*') || room.builtins.includes(specifier)
      ? undefined
      : `imports ${specifier}`;
  const name = packageOf(specifier);
  return room.packages.includes('*') || room.packages.includes(name)
    ? undefined
    : `imports the package ${name}`;
}

const SOURCES = ['schemas', 'projections', 'services', 'infra', 'test']
  .flatMap(filesBelow)
  .map((path) => ({ path, source: readFileSync(join(ROOT, path), 'utf8') }));

/** Code without comments and without what stands between quotes: words there do nothing. */
function bare(source: string): string {
  return source
    .replaceAll(/\/\*[\s\S]*?\*\/|\/\/[^\n]*/g, '')
    .replaceAll(/'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`/g, "''");
}

test('every file stands in a room, and imports only what its room may', () => {
  const complaints = SOURCES.flatMap(({ path, source }) => {
    const room = roomOf(path);
    if (room === undefined) return [`${path} stands in no room`];
    return importsOf(path, source).flatMap((each) => {
      const what = complaint(room, each);
      return what === undefined ? [] : [`${path} ${what}`];
    });
  });
  expect(complaints).toEqual([]);
});

test('the imports that this test reads are there', () => {
  expect(SOURCES.flatMap(({ path, source }) => importsOf(path, source)).length).toBeGreaterThan(
    SOURCES.length,
  );
  const broken = SOURCES.flatMap(({ path, source }) =>
    importsOf(path, source).flatMap(({ file }) =>
      file === undefined || existsSync(join(ROOT, file)) ? [] : [`${path}: ${file}`],
    ),
  );
  expect(broken).toEqual([]);
});

test('no gateway reads the log or opens the writer pool: it may append, and ask with SELECT', () => {
  const gateways = SOURCES.filter(({ path }) => /^services\/[\w-]+-gateway\//.test(path));
  expect(gateways.length).toBeGreaterThan(0);
  const reaching = gateways.filter(({ source }) =>
    /\bopenWriter\b|\bWriterSettings\b|\.consumer\(|\breadLog|\bLogReader\b/.test(bare(source)),
  );
  expect(reaching.map(({ path }) => path)).toEqual([]);
});

test('schemas and projections know no clock, no chance, no waiting and no process', () => {
  const complaints = SOURCES.filter(({ path }) => roomOf(path)?.pure === true).flatMap(
    ({ path, source }) =>
      IMPURE.flatMap(([pattern, what]) =>
        pattern.test(bare(source)) ? [`${path} uses ${what}`] : [],
      ),
  );
  expect(complaints).toEqual([]);
});

test('no file is longer than 300 lines', () => {
  const long = SOURCES.map(
    ({ path, source }) => [path, source.trimEnd().split('\n').length] as const,
  ).filter(([, lines]) => lines > LINES_MAX);
  expect(long).toEqual([]);
});

test('no file hides behind a name that says nothing', () => {
  expect(SOURCES.map(({ path }) => path).filter((path) => FORBIDDEN_NAMES.test(path))).toEqual([]);
});

test('no file is a barrel of re-exports', () => {
  const barrels = SOURCES.filter(({ source }) => {
    const lines = bare(source)
      .split('\n')
      .filter((line) => line.trim() !== '');
    return lines.length > 0 && lines.every((line) => /^\s*export\b.*\bfrom\b/.test(line));
  });
  expect(barrels.map(({ path }) => path)).toEqual([]);
});

test('every projection and every service has a test', () => {
  const folders = ['projections', 'services'].flatMap((top) =>
    readdirSync(join(ROOT, top), { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => `${top}/${name}`),
  );
  expect(folders.length).toBeGreaterThan(0);
  const tested = SOURCES.filter(({ path }) => path.endsWith('.test.ts')).map(({ path }) =>
    dirname(path),
  );
  expect(
    folders.filter((folder) => !tested.some((path) => isWithin(path, `test/${folder}`))),
  ).toEqual([]);
});

test('a test mirrors the file it tests, or the folder', () => {
  const orphans = SOURCES.filter(
    ({ path }) => path.endsWith('.test.ts') && path !== 'test/house.test.ts',
  )
    .map(({ path }) => relative('test', path))
    .filter(
      (path) =>
        !/^(faults|bench|model|support|end-to-end)\//.test(path) &&
        !existsSync(join(ROOT, path.replace(/\.test\.ts$/, '.ts'))) &&
        !existsSync(join(ROOT, dirname(path))),
    );
  expect(orphans).toEqual([]);
});

test('the gateways and the ground never import the tests', () => {
  const importers = SOURCES.filter(({ path }) => !path.startsWith('test/')).filter(
    ({ path, source }) =>
      importsOf(path, source).some(({ file }) => file !== undefined && isWithin(file, 'test')),
  );
  expect(importers.map(({ path }) => path)).toEqual([]);
});
