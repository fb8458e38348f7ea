/**
 * The cost of each unit of work, as a slope: processor time, bytes and requests of each part of a
 * whole system, from loads in turns that do more of one unit. A load of all units at once, of other
 * numbers, shows how far the sum of slopes is from the truth.
 */
import { startStack } from '../support/stack.ts';
import { say, type Bench } from './bench.ts';
import { median, type BenchReport } from './report.ts';
import { ALL, BASE, System, UNITS, type Figures, type Rates } from './scale-system.ts';
import { costOf, slopesOf } from './slopes.ts';

type Option = 'seconds' | 'rounds' | 'instances';

export const scale: Bench<Option> = {
  about: 'processor time, bytes and requests of each part a block, transaction, deposit and so on',
  options: {
    seconds: { about: 'of each load, once it is steady', default: 30 },
    rounds: { about: 'of all loads; an even number goes as often back as there', default: 2 },
    instances: { about: 'of each service', default: 1 },
  },
  run,
};

/** Each does more of one unit. Where money arrives many addresses are checked, so it is found. */
const LOADS: Readonly<Record<string, Rates>> = {
  base: BASE,
  blocks: { ...BASE, blocks: 10 },
  transactions: { ...BASE, transactions: 200 },
  sockets: { ...BASE, sockets: 2_000 },
  readers: { ...BASE, requests: 200 },
  addresses: { ...BASE, checks: 100 },
  deposits: { ...BASE, checks: 100, deposits: 2 },
};
/** Within the numbers of the others: each socket is told of five blocks a second. */
const HALF = {
  blocks: 5,
  transactions: 100,
  checks: 50,
  deposits: 1,
  sockets: 125,
  requests: 100,
};
/** A Java program compiles for minutes. */
const WARM_UP_SECONDS = 150;
const ERROR_MAX = 0.25;
/** Noise hides the error of a process with a smaller share of the processor time. */
const SHARE_MIN = 0.05;
/** A second without work, then the units. */
const COLUMNS = ['idle', ...UNITS];
/** Idle and blocks a second: they do not grow with traffic. */
const CLOCK = [1, 1];
/** The other units a second, as docs/scale.md assumes them. */
const TODAY = [2, 1, 0.0005, 100, 10];
const TIMES = [1, 10, 100, 1_000];

interface Round {
  readonly loads: readonly Figures[];
  readonly half: Figures;
}

async function run(given: Readonly<Record<Option, number>>): Promise<BenchReport> {
  const stack = await startStack();
  try {
    const system = new System(stack, given.instances);
    await system.start();
    say('warm-up: the first minutes of a process take more, until its code is compiled');
    await system.bear(HALF, WARM_UP_SECONDS);
    const rounds: Round[] = [];
    const bear = async (name: string, rates: Rates): Promise<Figures> => {
      const figures = await system.bear(rates, given.seconds);
      const told = [...UNITS, ALL].map((each) => `${each} ${figures.get(each)?.toFixed(1)}`);
      say(`round ${rounds.length + 1}, ${name}: ${told.join('; ')}`);
      return figures;
    };
    while (rounds.length < given.rounds) {
      // there and back, so that what changes with time is not taken for the error
      const isBack = rounds.length % 2 === 1;
      const before = isBack ? await bear('half of all', HALF) : undefined;
      const loads: Figures[] = [];
      const there = Object.entries(LOADS);
      for (const [name, rates] of isBack ? there.toReversed() : there)
        loads.push(await bear(name, rates));
      rounds.push({ loads, half: before ?? (await bear('half of all', HALF)) });
    }
    return reportOf(given.instances, rounds, system.memory());
  } finally {
    await stack.stop();
  }
}

function reportOf(instances: number, rounds: readonly Round[], memory: Figures): BenchReport {
  const names = [...(rounds[0]?.half.keys() ?? [])].filter((name) => !UNITS.includes(name));
  const parts = names.map((part) => fitted(part, rounds));
  const together = parts.find(({ part }) => part === ALL);
  const least = SHARE_MIN * (together?.measured ?? 0);
  return {
    bench: instances === 1 ? 'scale' : `scale-${instances}-instances`,
    about:
      'the whole system under loads in turns: slopes of each unit and of a second without work (idle), and their sum against half of all loads at once',
    measured: COLUMNS.map((column, at) => ({
      what: `processor time of all processes: ${column}`,
      unit: 'ms',
      rounds: together?.slopes.map((slopes) => slopes[at] ?? Number.NaN) ?? [],
    })),
    detail: parts.map(({ part, slopes, ...sums }) => {
      const each = COLUMNS.map((_, at) => median(slopes.map((of) => of[at] ?? Number.NaN)));
      const borne = (times: number): number =>
        costOf(each, [...CLOCK, ...TODAY.map((count) => count * times)]);
      return {
        part,
        ...Object.fromEntries(COLUMNS.map((column, at) => [column, each[at]])),
        ...sums,
        mib: memory.get(part.replace(/, ms$/, '')) ?? '',
        ...Object.fromEntries(TIMES.map((times) => [`x${times}`, borne(times)])),
      };
    }),
    ratios: parts
      .filter(({ part, measured }) => !part.endsWith(', ms') || measured >= least)
      .map(({ part, error }) => ({
        what: `error of the slopes: ${part}`,
        ratio: Math.abs(error),
        goal: `<= ${ERROR_MAX}`,
      })),
  };
}

/** The slopes of one part in each round, and their sum for half of all loads against the truth. */
function fitted(part: string, rounds: readonly Round[]) {
  const slopes = rounds.map(({ loads }) =>
    slopesOf(loads.map((load) => unitsOf(load).concat(figure(load, part)))),
  );
  const sums = rounds.map(({ half }, at) => costOf(slopes[at] ?? [], unitsOf(half)));
  const predicted = median(sums);
  const measured = median(rounds.map(({ half }) => figure(half, part)));
  return { part, slopes, predicted, measured, error: predicted / measured - 1 };
}

function unitsOf(figures: Figures): readonly number[] {
  return [1, ...UNITS.map((unit) => figure(figures, unit))];
}

function figure(figures: Figures, name: string): number {
  return figures.get(name) ?? Number.NaN;
}
