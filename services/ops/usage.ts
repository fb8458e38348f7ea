/** What all commands of the operator share in how they are asked: options, `--help`, and what is said to who mistypes. */
import { parseArgs, type ParseArgsOptionsConfig } from 'node:util';
import { messageOf } from '../runtime/errors.ts';

/** Asked wrongly, or refused: exit code 1 and a message that says what to do. */
export class Misuse extends Error {}

/** As `parseArgs` gives them. */
export type Arguments<Options extends ParseArgsOptionsConfig> = ReturnType<
  typeof parseArgs<{ options: Options; args: string[]; allowPositionals: true }>
>;

/** Throws `Misuse` for an option there is not, naming the one that was meant, and for a value that is missing. */
export function readArguments<const Options extends ParseArgsOptionsConfig>(args: readonly string[], options: Options): Arguments<Options> {
  try {
    return parseArgs({ options, args: [...args], allowPositionals: true });
  } catch (error) {
    const unknown = /^Unknown option '--?([^']*)'/.exec(messageOf(error))?.[1];
    if (unknown === undefined) throw new Misuse(messageOf(error).split('. ')[0] ?? '');
    const known = Object.keys(options).map((name) => `--${name}`);
    throw new Misuse(`there is no option --${unknown}${didYouMean(`--${unknown}`, known)}; --help lists them`);
  }
}

/** `, did you mean status?`, or nothing where no word is near. */
export function didYouMean(word: string, known: readonly string[]): string {
  const near = known
    .map((each) => [each, distance(word.toLowerCase(), each.toLowerCase())] as const)
    .toSorted(([, a], [, b]) => a - b)
    .find(([each, steps]) => steps <= Math.max(1, Math.floor(each.length / 3)));
  const begun = known.filter((each) => word.length > 1 && each.startsWith(word));
  const meant = near?.[0] ?? (begun.length === 1 ? begun[0] : undefined);
  return meant === undefined ? '' : `, did you mean ${meant}?`;
}

/** How many letters have to be put in, left out, changed or swapped with the next one. */
function distance(from: string, to: string): number {
  let before: number[] = [];
  let row = Array.from({ length: to.length + 1 }, (_, at) => at);
  for (let i = 1; i <= from.length; i++) {
    const next = [i];
    for (let j = 1; j <= to.length; j++) {
      const same = from[i - 1] === to[j - 1];
      const swapped = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
      const steps = [(row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + (same ? 0 : 1)];
      next.push(Math.min(...steps, ...(swapped ? [(before[j - 2] ?? 0) + 1] : [])));
    }
    before = row;
    row = next;
  }
  return row[to.length] ?? 0;
}
