/** What all commands of the operator share in how they are asked: options, `--help`, and what is said to who mistypes. */
import { parseArgs, type ParseArgsOptionsConfig } from 'node:util';
import { messageOf } from '../runtime/process/errors.ts';

/** Asked wrongly, or refused: exit code 1 and a message that says what to do; where `usage` is given, that follows. */
export class Misuse extends Error {
  constructor(problem: string, usage?: string) {
    super(usage === undefined ? problem : `${problem}\n\n${usage.trimEnd()}`);
  }
}

/** As `parseArgs` gives them. */
export type Arguments<Options extends ParseArgsOptionsConfig> = ReturnType<
  typeof parseArgs<{ options: Options; args: string[]; allowPositionals: true }>
>;

/** Throws `Misuse` for an option there is not, naming the one that was meant, and for a value that is missing. */
export function readArguments<const Options extends ParseArgsOptionsConfig>(
  args: readonly string[],
  options: Options,
  usage: string,
): Arguments<Options> {
  try {
    return parseArgs({ options, args: [...args], allowPositionals: true });
  } catch (error) {
    const unknown = /^Unknown option '--?([^']*)'/.exec(messageOf(error))?.[1];
    if (unknown === undefined) throw new Misuse(messageOf(error).split('. ')[0] ?? '', usage);
    const known = Object.keys(options).map((name) => `--${name}`);
    throw new Misuse(`there is no option --${unknown}${didYouMean(`--${unknown}`, known)}`, usage);
  }
}

/** Throws `Misuse` where a command that takes options alone is given anything else. */
export function refuseWords(command: string, words: readonly string[], usage: string): void {
  if (words.length > 0)
    throw new Misuse(`${command} takes no words behind it, not "${words.join(' ')}"`, usage);
}

/** A command that has commands of its own: the options that only some of them take. What none of them names, all take. */
export interface Commands {
  readonly name: string;
  readonly options: Readonly<Record<string, readonly string[]>>;
  readonly usage: string;
}

/** Which of them is asked for, and the words behind it. Throws `Misuse` where there is none of that name, and for an option that only another one takes. */
export function commandOf(
  args: readonly string[],
  [command, ...words]: readonly string[],
  { name, options, usage }: Commands,
): readonly [command: string, ...words: string[]] {
  const known = Object.keys(options);
  if (command === undefined)
    throw new Misuse(`a command is missing: one of ${known.join(', ')}`, usage);
  const own = Object.hasOwn(options, command) ? options[command] : undefined;
  if (own === undefined)
    throw new Misuse(`there is no ${name} ${command}${didYouMean(command, known)}`, usage);
  const foreign = Object.values(options)
    .flat()
    .find(
      (option) =>
        !own.includes(option) &&
        args.some((arg) => arg === `--${option}` || arg.startsWith(`--${option}=`)),
    );
  if (foreign !== undefined) throw new Misuse(`${name} ${command} takes no --${foreign}`, usage);
  return [command, ...words];
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
