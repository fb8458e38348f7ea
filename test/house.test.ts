/** The rules of the house. To change one, edit the tables below in a commit that says why. */
import { readdirSync, readFileSync, existsSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { expect, test } from 'vitest';
import { shortLimits } from './support/limit-rule.ts';
import { misnamed, NAMES_OF_OTHERS } from './support/naming-rule.ts';
import { spreadBags } from './support/spread-rule.ts';
import { clausesFirst, longComments, pronounsFirst } from './support/wording-rule.ts';

const ROOT = join(import.meta.dirname, '..');
const LINES_MAX = 500;

interface Room {
  /** path prefix; the longest that fits a file is its room */
  readonly room: string;
  /** path prefixes of the files it may import, besides its own room */
  readonly rooms: readonly string[];
  /** packages it may import; '*' any */
  readonly packages: readonly string[];
  /** builtin modules it may import; '*' any; by default none */
  readonly builtins?: readonly string[];
  /** no clock, randomness, waiting or process */
  readonly pure?: boolean;
}

/** Readable by every gateway: rows by queries, and change keys. */
const READ_MODELS = ['projections/contract', 'projections/*/queries', 'projections/*/change-keys'];
const HTTP_SERVICE = [
  'schemas',
  'services/runtime/process',
  'services/runtime/http',
  'services/runtime/limits',
];
const READER = [
  'services/runtime/postgres',
  'services/runtime/redis',
  'services/runtime/shared-counts',
  'services/runtime/read-version',
  ...READ_MODELS,
];

const ROOMS: readonly Room[] = [
  {
    room: 'schemas',
    rooms: [],
    packages: ['ethers', 'lru-cache', 'typebox'],
    pure: true,
  },
  { room: 'projections', rooms: ['schemas'], packages: [], pure: true },
  {
    room: 'services/runtime',
    rooms: ['schemas', 'projections/contract'],
    packages: [
      '@kafkajs/confluent-schema-registry',
      '@opentelemetry/api',
      '@opentelemetry/core',
      '@opentelemetry/exporter-trace-otlp-http',
      '@opentelemetry/resources',
      '@opentelemetry/sdk-trace',
      'avsc',
      'express',
      'graphql',
      'graphql-redis-subscriptions',
      'ioredis',
      'jose',
      'lru-cache',
      'negotiator',
      'pg',
      'pino',
      'prom-client',
      'proxy-addr',
      'typebox',
    ],
    builtins: ['*'],
  },
  {
    // the Kafka client behind services/runtime/kafka/port.ts; no other folder of services knows it
    room: 'services/runtime/kafka/kafkajs',
    rooms: ['services/runtime'],
    packages: ['kafkajs'],
    builtins: ['*'],
  },
  {
    room: 'services/projector',
    rooms: ['schemas', 'projections', 'services/runtime'],
    packages: ['pg', 'knex'],
    builtins: ['*'],
  },
  {
    room: 'services/chain-ingester',
    rooms: [
      ...HTTP_SERVICE,
      'projections/chain',
      'services/runtime/kafka',
      'services/runtime/clt-node',
    ],
    packages: [],
    builtins: ['node:crypto'],
  },
  {
    room: 'services/explorer-gateway',
    rooms: [...HTTP_SERVICE, ...READER, 'services/runtime/kafka', 'services/runtime/clt-node'],
    packages: ['@resvg/resvg-wasm', 'lru-cache'],
    builtins: ['*'],
  },
  {
    room: 'services/hub-gateway',
    rooms: [...HTTP_SERVICE, ...READER, 'services/runtime/clt-node'],
    packages: [
      'express',
      'graphql',
      '@apollo/server',
      '@as-integrations/express5',
      '@graphql-yoga/render-graphiql',
      'graphql-ws',
      'lru-cache',
      'ws',
    ],
    builtins: ['node:crypto', 'node:fs', 'node:http', 'node:perf_hooks', 'node:stream'],
  },
  {
    room: 'services/deposit-gateway',
    // appends to deposit.addresses, and folds it: it believes no table about owners
    rooms: [
      ...HTTP_SERVICE,
      ...READER,
      'projections/deposits/domain/address-book',
      'services/runtime/kafka',
    ],
    packages: ['lru-cache'],
    builtins: ['node:crypto', 'node:perf_hooks'],
  },
  {
    room: 'services/treasury',
    rooms: [
      ...HTTP_SERVICE,
      'projections/contract',
      'projections/deposits',
      'projections/chain',
      'projections/reserve',
      'services/runtime/kafka',
      'services/runtime/snapshots',
      'services/runtime/clt-node',
      'services/runtime/trongrid',
    ],
    // ethers: the mint authority signs here and nowhere else
    packages: ['ethers'],
    builtins: ['node:crypto'],
  },
  {
    room: 'services/tron-watcher',
    rooms: [
      ...HTTP_SERVICE,
      ...READ_MODELS,
      'projections/watch',
      'services/runtime/kafka',
      'services/runtime/postgres',
      'services/runtime/trongrid',
    ],
    packages: [],
    builtins: ['node:crypto'],
  },
  {
    room: 'services/ops',
    // commands and schedules use the same code; ops restart asks the supervisor of infra/local, and
    // knows the settings of every service
    rooms: [
      'schemas',
      'projections',
      'services/runtime',
      'services/projector',
      'services/treasury/reconciliation',
      'services/treasury/ledger/ledger-writer',
      'services/*/config',
      'infra/local',
    ],
    packages: ['@duckdb/node-api', 'avsc', 'ethers', 'fflate', 'lru-cache', 'yargs'],
    builtins: ['*'],
  },
  { room: 'infra', rooms: ['schemas'], packages: ['*'], builtins: ['*'] },
  {
    // runs in browsers, asks gateways by their interfaces; fees and calls are those of the services
    room: 'services/console',
    rooms: [
      'packages/wallet/src',
      'schemas/deposit-policy',
      'schemas/explorer-api',
      'schemas/deposit-api',
      'schemas/function-call',
      'schemas/operations-api',
    ],
    packages: [
      '@protomaps/basemaps',
      '@tanstack/react-query',
      '@tanstack/react-router',
      '@vitejs/plugin-react',
      'ethers', // operators' keys of the operations page
      'geojson',
      'graphql-ws',
      'maplibre-gl',
      'pmtiles',
      'react',
      'react-dom',
      'topojson-client',
      'topojson-specification',
      'uplot',
      'uqr',
      'vite',
      'world-atlas',
    ],
  },
  {
    // verifies in browsers by the folds of the services, so that no rule has a second copy
    room: 'services/console/src/verify',
    rooms: ['services/console/src', 'schemas', 'projections/chain', 'projections/reserve'],
    packages: ['buffer', 'react'],
  },
  {
    // runs in browsers, without the rest of the project
    room: 'packages/wallet/src',
    rooms: [],
    packages: ['@noble/curves', '@noble/hashes', 'graphql-ws'],
  },
  {
    room: 'test',
    rooms: ['schemas', 'projections', 'services', 'infra', 'packages'],
    packages: ['*'],
    builtins: ['*'],
  },
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
    .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
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

/** Whether the path is the file or below the folder of that name; `*` stands for one folder. */
function isWithin(path: string, place: string): boolean {
  const parts = path.replace(/\.tsx?$/, '').split('/');
  return place.split('/').every((part, at) => part === '*' || part === parts[at]);
}

function packageOf(specifier: string): string {
  return specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');
}

function complaint(room: Room, { specifier, file }: Import): string | undefined {
  if (file !== undefined) {
    if (!/\.(tsx?|json|css|svg)$/.test(file)) return `imports ${specifier} without its ending`;
    return [room.room, ...room.rooms].some((prefix) => isWithin(file, prefix))
      ? undefined
      : `imports ${file}`;
  }
  if (specifier.startsWith('node:'))
    return ['*', specifier].some((each) => room.builtins?.includes(each))
      ? undefined
      : `imports ${specifier}`;
  const name = packageOf(specifier);
  return room.packages.includes('*') || room.packages.includes(name)
    ? undefined
    : `imports the package ${name}`;
}

const SOURCES = ['schemas', 'projections', 'services', 'infra', 'packages/wallet/src', 'test']
  .flatMap(filesBelow)
  .map((path) => ({ path, source: readFileSync(join(ROOT, path), 'utf8') }));

/** Without the console, whose components pass on their properties. */
const SERVICES = SOURCES.filter(({ path }) => /^services\/(?!console\/)/.test(path));

/** Code without comments and without what stands between quotes: words there do nothing. */
function bare(source: string): string {
  return source
    .replaceAll(/\/\*[\s\S]*?\*\/|\/\/[^\n]*/g, '')
    .replaceAll(/'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`/g, "''");
}

/** Places that break a rule, which gives their lines. */
function breaking(rule: typeof spreadBags, sources: typeof SOURCES): readonly string[] {
  return sources.flatMap(({ path, source }) => rule(source).map((found) => `${path}:${found}`));
}

test('every file belongs to a room and imports only what its room allows', () => {
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

test('the imports that this test reads exist', () => {
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

test('no file imports itself through others, types included', () => {
  const imports = new Map(
    SOURCES.map(({ path, source }) => [
      path,
      importsOf(path, source).flatMap(({ file }) => (file === undefined ? [] : [file])),
    ]),
  );
  const done = new Set<string>();
  const circles: string[] = [];
  const visit = (path: string, way: readonly string[]): void => {
    if (way.includes(path)) circles.push([...way.slice(way.indexOf(path)), path].join(' > '));
    if (done.has(path)) return;
    done.add(path);
    for (const next of imports.get(path) ?? []) visit(next, [...way, path]);
  };
  for (const path of imports.keys()) visit(path, []);
  expect(circles).toEqual([]);
});

test('no gateway opens the writer pool, and none reads the log but for the owners of addresses', () => {
  const gateways = SOURCES.filter(({ path }) => /^services\/[\w-]+-gateway\//.test(path));
  expect(gateways.length).toBeGreaterThan(0);
  const having = (words: RegExp): readonly string[] =>
    gateways.filter(({ source }) => words.test(bare(source))).map(({ path }) => path);
  expect(having(/\bopenWriter\b|\bWriterSettings\b/)).toEqual([]);
  expect(having(/\.fetcher\(|\breadLog|\bLogReader\b/)).toEqual([
    'services/deposit-gateway/address-log.ts',
  ]);
});

test('schemas and projections use no clock, randomness, waiting or process', () => {
  const complaints = SOURCES.filter(({ path }) => roomOf(path)?.pure === true).flatMap(
    ({ path, source }) =>
      IMPURE.flatMap(([pattern, what]) =>
        pattern.test(bare(source)) ? [`${path} uses ${what}`] : [],
      ),
  );
  expect(complaints).toEqual([]);
});

test('no file is longer than 500 lines', () => {
  const long = SOURCES.map(
    ({ path, source }) => [path, source.trimEnd().split('\n').length] as const,
  ).filter(([, lines]) => lines > LINES_MAX);
  expect(long).toEqual([]);
});

test('no comment line is longer than 100 columns', () => {
  expect(breaking(longComments, SOURCES)).toEqual([]);
});

test('no comment and no test title begins with a clause or "of" as its subject', () => {
  expect(breaking(clausesFirst, SOURCES)).toEqual([]);
});

test('no docstring begins with a pronoun, whose noun an editor does not show', () => {
  const shown = SOURCES.filter(({ path }) => !path.startsWith('test/'));
  expect(breaking(pronounsFirst, shown)).toEqual([]);
});

test('a call of a service names what it passes: none spreads its options or settings', () => {
  expect(breaking(spreadBags, SERVICES)).toEqual([]);
});

test('data is snake_case, code is camelCase, and a destructured datum keeps its words', () => {
  const named = SOURCES.filter(({ path }) => !NAMES_OF_OTHERS.test(path));
  expect(breaking(misnamed, named)).toEqual([]);
});

test('no file or folder has a catch-all name such as utils or helpers', () => {
  expect(SOURCES.map(({ path }) => path).filter((path) => FORBIDDEN_NAMES.test(path))).toEqual([]);
});

test('file and folder names are kebab case', () => {
  const names = SOURCES.map(({ path }) => path).filter(
    (path) =>
      !/^([a-z0-9-]+(\.[a-z0-9-]+)*\/)*[a-z0-9-]+(\.(test|fixture|config))?\.tsx?$/.test(path),
  );
  expect(names).toEqual([]);
});

test('a test that starts or shares servers is in test/servers', () => {
  const unit = SOURCES.filter(
    ({ path }) => path.endsWith('.test.ts') && !/^test\/(servers|faults)\//.test(path),
  );
  const reaching = unit.filter(({ source }) =>
    /\binject\(\s*'stack'|\bstartStack\(/.test(source.replaceAll(/\/\/[^\n]*/g, '')),
  );
  expect(reaching.map(({ path }) => path)).toEqual([]);
});

test('no file is a barrel of re-exports, except the interface of a package', () => {
  const barrels = SOURCES.filter(({ path, source }) => {
    if (/^packages\/[^/]+\/src\/index\.ts$/.test(path)) return false;
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
    folders.filter(
      (folder) =>
        !tested.some(
          (path) => isWithin(path, `test/${folder}`) || isWithin(path, `test/servers/${folder}`),
        ),
    ),
  ).toEqual([]);
});

test('a test mirrors the file it tests, or the folder', () => {
  const orphans = SOURCES.filter(
    ({ path }) => path.endsWith('.test.ts') && path !== 'test/house.test.ts',
  )
    .map(({ path }) => relative('test', path).replace(/^servers\//, ''))
    .filter(
      (path) =>
        !/^(faults|fuzz|bench|model|support|containers|chart|end-to-end)\//.test(path) &&
        !existsSync(join(ROOT, path.replace(/\.test\.ts$/, '.ts'))) &&
        !existsSync(join(ROOT, dirname(path))),
    );
  expect(orphans).toEqual([]);
});

test('no file outside test imports one of test', () => {
  const importers = SOURCES.filter(({ path }) => !path.startsWith('test/')).filter(
    ({ path, source }) =>
      importsOf(path, source).some(({ file }) => file !== undefined && isWithin(file, 'test')),
  );
  expect(importers.map(({ path }) => path)).toEqual([]);
});

/** Goals, which depend on the machine, are claims of benchmarks alone. */
const WITHOUT_GOALS = SOURCES.filter(({ path }) => /^test\/(?!bench\/)/.test(path));

test('no test has a limit that a slow machine can reach', () => {
  const tests = WITHOUT_GOALS.filter(({ path }) => path !== 'test/support/limits.ts');
  expect(breaking(shortLimits, tests)).toEqual([]);
});

test('a page waits without regard to the speed of the machine: openContext opens it', () => {
  const opening = WITHOUT_GOALS.filter(({ source }) =>
    /\.new(Context|Page)\(\s*\{|\.newContext\(|\bbrowser\.newPage\(/.test(bare(source)),
  );
  expect(opening.map(({ path }) => path)).toEqual(['test/support/chromium.ts']);
});
