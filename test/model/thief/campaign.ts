/**
 * Many sequences, seed by seed. The first violation of each kind is made as small as it gets and
 * told in full.
 */
import type { Violation } from './oracle.ts';
import { planOf, play, shrunk, wordsOf } from './sequence.ts';

const MINUTE_MS = 60_000;
/** Violations of one kind that are shown. */
const SHOWN = 3;
const PROGRESS_EVERY = 100;
const SEEDS_SHOWN = 12;

export interface Campaign {
  /** of the first sequence */
  readonly seed: number;
  /** undefined: until there are so many sequences */
  readonly minutes?: number | undefined;
  readonly sequences?: number | undefined;
  /** invariants to look at; undefined: all */
  readonly only?: readonly string[] | undefined;
  /** what happened in each sequence is told */
  readonly tells?: boolean;
  readonly say: (line: string) => void;
}

/** The violations, by kind. */
export async function campaign(options: Campaign): Promise<readonly string[]> {
  const { seed: first, minutes = Infinity, sequences = Infinity, say, tells = false } = options;
  const begun = performance.now();
  const found = new Map<string, number[]>();
  const sums = { sequences: 0, forged: 0, counted: 0, mints: 0 };
  const progress = (): string => {
    const seconds = ((performance.now() - begun) / 1_000).toFixed(0);
    const { sequences: played, forged, counted, mints } = sums;
    return `${played} sequences in ${seconds} s, ${forged} forged records, ${counted} of the ledger counted, ${mints} Mints`;
  };
  for (let seed = first; sums.sequences < sequences; seed++) {
    // no limit: the run ends when its time is over
    if (performance.now() - begun > minutes * MINUTE_MS) break;
    const plan = planOf(seed);
    const played = await play(plan);
    sums.sequences++;
    sums.forged += played.forged;
    sums.counted += played.counted;
    sums.mints += played.mints;
    if (tells) for (const line of [wordsOf(plan), ...played.words]) say(line);
    for (const violation of played.violations.filter((each) => isWanted(each, options))) {
      const { invariant, kind, what } = violation;
      const seeds = note(found, `${invariant}: ${kind}`, seed);
      if (seeds <= SHOWN) say(`VIOLATED ${invariant} (seed ${seed}): ${kind}: ${what}`);
      if (seeds === 1) await tellSmallest(seed, kind, say);
    }
    if (sums.sequences % PROGRESS_EVERY === 0) say(progress());
  }
  say(progress());
  return [...found].map(textOf);
}

function isWanted({ invariant }: Violation, { only }: Campaign): boolean {
  return only === undefined || only.includes(invariant);
}

/** How many there are by now. */
function note(notes: Map<string, number[]>, what: string, seed: number): number {
  const seeds = notes.get(what) ?? [];
  notes.set(what, seeds);
  return seeds.push(seed);
}

async function tellSmallest(
  seed: number,
  kind: string,
  say: (line: string) => void,
): Promise<void> {
  const small = await shrunk(planOf(seed), kind);
  const { words, violations } = await play(small);
  const again = violations.find((each) => each.kind === kind);
  for (const line of [wordsOf(small), ...words]) say(`    ${line}`);
  say(`    => ${again?.what ?? 'not again'}`);
}

function textOf([what, seeds]: readonly [string, readonly number[]]): string {
  return `${what} (${seeds.length} times: seeds ${seeds.slice(0, SEEDS_SHOWN).join(', ')})`;
}
