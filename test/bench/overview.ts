/**
 * The first two tables of `docs/measurements.md`: how long users wait, and the goals with what was
 * measured. Both are made of published results.
 */
import {
  figure,
  isMissed,
  median,
  type BenchResult,
  type Published,
  type Ratio,
} from './report.ts';

/** A figure of a result: the name of a measured one, or a row of its detail and a column there. */
type Source = string | { readonly list: string; readonly column: string };

/** `{name}` in its words stands for that option of the run. */
interface Shown {
  readonly what: string;
  /** none: not measured yet */
  readonly from?: Figures;
}

interface Figures {
  readonly bench: string;
  readonly typical: Source;
  readonly slow?: Source;
}

function ofPage(list: string): Figures {
  return {
    bench: 'beyond-memory',
    typical: { list, column: 'p50_large_ms' },
    slow: { list, column: 'p99_large_ms' },
  };
}

const WAITS: readonly Shown[] = [
  {
    what: "deposit: detection, from TRON's block to the page, on the devnet",
    from: { bench: 'deposit', typical: 'detection', slow: 'detection, slowest' },
  },
  {
    what: 'deposit: credited, from the detection on, on the devnet',
    from: { bench: 'deposit', typical: 'credited', slow: 'credited, slowest' },
  },
  {
    what: 'deposit: from the payment until it is credited, beside kills',
    from: { bench: 'soak', typical: 'payment to credit, p50', slow: 'payment to credit, p99' },
  },
  {
    what: "block to the explorer's answer",
    from: {
      bench: 'block-to-answer',
      typical: 'node to explorer, p50',
      slow: 'node to explorer, p99',
    },
  },
  {
    what: 'block to subscriber',
    from: {
      bench: 'block-to-subscriber',
      typical: "node to the hub's subscriber, p50",
      slow: "node to the hub's subscriber, p99",
    },
  },
  {
    what: 'block to subscriber, beside kills',
    from: {
      bench: 'soak',
      typical: "node to the hub's subscriber, p50",
      slow: "node to the hub's subscriber, p99",
    },
  },
  {
    what: 'page: the first of the console is shown',
    from: { bench: 'console', typical: 'largest contentful paint of the first page' },
  },
  {
    what: 'page: it answers a key or a click',
    from: {
      bench: 'console',
      typical: 'interaction to next paint (INP)',
      slow: 'slowest interaction',
    },
  },
  { what: 'list: transactions, of tables four times the memory', from: ofPage('transactions') },
  {
    what: 'list: transactions of a type, of tables four times the memory',
    from: ofPage('transactions of a type'),
  },
  {
    what: 'balance: of any account at a height, of tables four times the memory',
    from: ofPage('balance of any account at a height'),
  },
  {
    what: 'start: a treasury with a snapshot, {transactions} transactions',
    from: {
      bench: 'start',
      typical: 'treasury with a snapshot: start with {transactions} transactions',
    },
  },
  {
    what: 'start: a treasury without a snapshot, {transactions} transactions',
    from: {
      bench: 'start',
      typical: 'treasury without a snapshot: start with {transactions} transactions',
    },
  },
  {
    what: 'load: {transactions} transactions',
    from: { bench: 'beyond-memory', typical: 'load of {transactions}, empty database to live' },
  },
  {
    what: 'rebuild: {transactions} transactions, while the explorer is read',
    from: { bench: 'rebuild', typical: 'a rebuild under reads, from the command to its end' },
  },
];

/** The work that one process of each kind does. */
const CAPACITIES: readonly Shown[] = [
  {
    what: 'explorer: any page of transactions, each read from Postgres',
    from: {
      bench: 'lists',
      typical: 'any page of transactions: gateway, each read',
    },
  },
  {
    what: 'explorer: the newest transactions, again and again',
    from: {
      bench: 'lists',
      typical: 'newest transactions, again and again: gateway that keeps answers',
    },
  },
  {
    what: 'hub: the same query of a list of {requests} requests',
    from: { bench: 'hub', typical: 'the same document: hub' },
  },
  {
    what: 'hub: a new query each time',
    from: { bench: 'hub', typical: 'a new document each time: hub' },
  },
  {
    what: 'hub: until {sockets} sockets have a change of a list of {requests} requests',
    from: { bench: 'sockets', typical: 'from a change until every socket has it' },
  },
  {
    what: 'projector of the explorer: load, of {transactions} transactions',
    from: { bench: 'load', typical: 'projector process, empty database to live' },
  },
];

const ERRORS_OF_PARTS = [/^error of the slopes: (?!all processes).*, ms$/];

/** Ratios of a bench that differ by their subject alone: the worst stands for all. */
const GROUPS: Readonly<Record<string, readonly RegExp[]>> = {
  abuse: [/^p99 of all rounds under /, /^memory of the gateways under /],
  'beyond-memory': [/^p99 of a list, /, /^p99 of a balance at a height, /, /^p99 of one thing, /],
  lists: [/: processor time, gateway, each read \/ bare$/],
  scale: ERRORS_OF_PARTS,
  'scale-2-instances': ERRORS_OF_PARTS,
  soak: [/^memory of /],
};

/** The reason of each goal that was missed, by bench and by how the ratio begins. */
const REASONS: readonly (readonly [bench: string, begins: string, why: string])[] = [
  [
    'scale',
    'error of the slopes: tables',
    'tables grow by many pages at a time; how much that is in 15 s was not measured',
  ],
  [
    'load',
    'load / raw COPY',
    'decompressing, decoding, hashing, folding and encoding are nearly all in one thread ([more](#load-beside-raw-copy))',
  ],
  [
    'catching-up',
    'catching up / raw COPY',
    'a batch is folded only after the one before is committed ([more](#catching-up-beside-raw-copy))',
  ],
  [
    'beyond-memory',
    'load time',
    'Postgres reads and merges more accounts; why indexes take 3.9 times as long was not measured ([more](#a-chain-larger-than-memory))',
  ],
  [
    'beyond-memory',
    'p99 of a list',
    'each row of a list may be on another page of the disk ([more](#a-chain-larger-than-memory))',
  ],
  [
    'beyond-memory',
    'p99 of a balance',
    'the height is looked for among the ordinals of the account, and each step reads a row ([more](#a-chain-larger-than-memory))',
  ],
  [
    'beyond-memory',
    'tables and indexes',
    'rows and indexes hold whole addresses, and indexes for analysts came on top ([EXP-29](decisions/explorer.md#exp-29-rows-hold-addresses-not-numbers-for-them))',
  ],
];

export function waitsTable(results: readonly BenchResult[]): string {
  return tableOf(['wait', 'typical', 'p99 or maximum, of the worst round'], WAITS, results);
}

export function capacitiesTable(results: readonly BenchResult[]): string {
  return tableOf(['one machine of 2 cores, with its clients', 'median'], CAPACITIES, results);
}

function tableOf(
  head: readonly string[],
  shown: readonly Shown[],
  results: readonly BenchResult[],
): string {
  const rows = shown.map(({ what, from }) => {
    const result = results.find(({ bench }) => bench === from?.bench);
    if (from === undefined || result === undefined)
      return line([what, 'not measured', ...head.slice(2).map(() => ''), '']);
    const { bench, typical, slow } = from;
    const slowest = slow === undefined ? '' : figureOf(result, slow, largest);
    const figures = [figureOf(result, typical, median), slowest].slice(0, head.length - 1);
    return line([filled(what, result), ...figures, `[${bench}](#${bench})`]);
  });
  return `${line([...head, 'from'])}|${'---|'.repeat(head.length + 1)}\n${rows.join('')}`;
}

/** A row of a table in Markdown. */
export function line(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |\n`;
}

function filled(words: string, { options }: BenchResult): string {
  return words.replaceAll(/\{(\w+)\}/g, (_, option: string) =>
    (options[option] ?? Number.NaN).toLocaleString('en'),
  );
}

function largest(values: readonly number[]): number {
  return Math.max(...values);
}

function figureOf(
  result: BenchResult,
  source: Source,
  of: (rounds: readonly number[]) => number,
): string {
  const { bench, measured, detail = [] } = result;
  if (typeof source === 'string') {
    const found = measured.find(({ what }) => what === filled(source, result));
    if (found !== undefined) return `${figure(of(found.rounds))} ${found.unit}`;
  } else {
    const row = detail.find((each) => Reflect.get(each, 'list') === source.list);
    const value: unknown = row === undefined ? undefined : Reflect.get(row, source.column);
    if (typeof value === 'number') return `${figure(value)} ms`;
  }
  throw new Error(`the result of ${bench} has no ${JSON.stringify(source)}: name another figure`);
}

/** A ratio that differs by more between two kinds of processor, or is missed on one, is a range. */
const MOVE_MAX = 1 / 3;

export function goalsTable(results: readonly Published[]): string {
  const rows = results.flatMap((result) =>
    grouped(result)
      .filter(({ goal }) => goal !== undefined)
      .map((ratio) => goalRow(result, ratio)),
  );
  const head = '| ratio | goal | measured | | why missed | from |\n|---|---|---|---|---|---|\n';
  const lines = rows
    .toSorted((one, other) => Number(other.missed) - Number(one.missed))
    .map((row) => row.line);
  return `${head}${lines.join('')}`;
}

function goalRow(
  result: Published,
  ratio: Ratio,
): { readonly missed: boolean; readonly line: string } {
  const { bench } = result;
  const all = [ratio.ratio, ratioElsewhere(result, ratio) ?? ratio.ratio];
  const [least, most] = [Math.min(...all), Math.max(...all)];
  const missed = isMissed(worse(result, ratio));
  const moves = most - least > MOVE_MAX * least || missed !== isMissed(ratio);
  const why = REASONS.find(([of, begins]) => of === bench && ratio.what.startsWith(begins))?.[2];
  const cells = [
    ratio.what.trim(),
    ratio.goal ?? '',
    moves ? `${least.toFixed(2)} to ${most.toFixed(2)}` : ratio.ratio.toFixed(2),
    missed ? '**missed**' : 'met',
    missed ? (why ?? 'not known') : '',
    `[${bench}](#${bench})`,
  ];
  return { missed, line: line(cells) };
}

/** The ratio on the kind of processor where it is worse. */
export function worse(result: Published, ratio: Ratio): Ratio {
  const there = ratioElsewhere(result, ratio) ?? ratio.ratio;
  const of = ratio.goal?.startsWith('>') === true ? Math.min : Math.max;
  return { ...ratio, ratio: of(ratio.ratio, there) };
}

/** The same ratio on another kind of processor; undefined: not measured there. */
export function ratioElsewhere({ bench, other }: Published, { what }: Ratio): number | undefined {
  if (other === undefined) return undefined;
  const key = keyOf(bench, what);
  return grouped(other).find((each) => keyOf(bench, each.what) === key)?.ratio;
}

/** Equal for all members of a group, and for the worst that stands for them. */
function keyOf(bench: string, what: string): string {
  const member = what.replace(/ \(the worst of \d+\)$/, '');
  return GROUPS[bench]?.find((each) => each.test(member))?.source ?? member;
}

/** The ratios of a result, of each group the worst alone, with their number. */
export function grouped({ bench, ratios }: BenchResult): readonly Ratio[] {
  return [...Map.groupBy(ratios, ({ what }) => keyOf(bench, what)).values()].flatMap(worstOf);
}

function worstOf(members: readonly Ratio[]): readonly Ratio[] {
  const sign = members.some(({ goal = '' }) => goal.startsWith('>')) ? 1 : -1;
  const [worst] = members.toSorted((one, other) => sign * (one.ratio - other.ratio));
  if (worst === undefined || members.length === 1) return members;
  return [{ ...worst, what: `${worst.what} (the worst of ${members.length})` }];
}
