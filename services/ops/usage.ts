/** Shared by the calls of all commands: options, refusals and suggestions. */
import { join, resolve } from 'node:path';
import type { Argv } from 'yargs';

/** Bad usage, or a refusal: exit code 1. The message says what to do. */
export class Misuse extends Error {
  /** snake_case, stable: the reason of a refusal */
  readonly code: string;

  constructor(message: string, code = 'misuse') {
    super(message);
    this.code = code;
  }
}

/** The problem of a call that ends before a command. */
export const MISSING = 'a command is missing';

/** Options of every command. */
export interface SharedArguments {
  readonly json: boolean | undefined;
  readonly stack: string;
  readonly timeout?: string | undefined;
}

/** The given --timeout in ms, or `seconds`. Throws `Misuse`. */
export function timeout({ timeout: given }: SharedArguments, seconds: number): number {
  return 1_000 * (given === undefined ? seconds : count('--timeout', given, 86_400));
}

const STACK_FILE = join(import.meta.dirname, '../../.local/stack.json');

/** A command for the same stack, as a person pastes it into a shell that has no APP_LOCAL_DIR. */
export function pasted(command: string, { stack }: SharedArguments): string {
  return `npx ops ${command}${resolve(stack) === STACK_FILE ? '' : ` --stack ${resolve(stack)}`}`;
}

/** Where a command is added. */
export type Commands = Argv<SharedArguments>;

/** An option that takes one text. */
export const TEXT = { type: 'string', requiresArg: true } as const;
/** May be given several times. */
export const TEXTS = {
  type: 'array',
  string: true,
  requiresArg: true,
  default: [] as string[],
  defaultDescription: 'all',
} as const;
export const DONE_BEFORE =
  'Exits 0 when it is done or was done before, 1 when refused, 2 when something did not answer.';
/** Options of a decision. */
export const DECISION = {
  actor: { ...TEXT, demandOption: true, describe: 'who decides' },
  reason: { ...TEXT, demandOption: true, describe: 'why' },
} as const;
/** Options of a decision that an operator signs, and that is asked about on a terminal. */
export const SIGNED = {
  ...DECISION,
  'key-file': {
    ...TEXT,
    describe:
      "the operator's encrypted key, with its password in APP_OPERATOR_PASSWORD or asked for",
    defaultDescription: 'the key in APP_OPERATOR_KEY',
  },
  yes: { type: 'boolean', describe: 'do not ask on a terminal' },
} as const;

/** Runs a command that resolves to its exit code; `keepsTime`: --timeout is of its parts. */
export type Run = <Arguments extends SharedArguments>(
  command: (args: Arguments) => Promise<number>,
  keepsTime?: boolean,
) => (args: Arguments) => Promise<void>;

/** A whole number from 1 to `max`, given for this option. Throws `Misuse`. */
export function count(option: string, text: string, max = 1e15): number {
  const value = /^[1-9][0-9]*$/.test(text) ? Number(text) : Number.NaN;
  if (!(value <= max))
    throw new Misuse(`${option} is a whole number from 1 to ${max}, not "${text}"`);
  return value;
}

/** An amount in USDT with up to six decimals, given for this option, in micro-USDT. */
export function usd(option: string, text: string): bigint {
  const [, sign = '', whole, part = ''] = /^(-?)([0-9]{1,20})(?:\.([0-9]{1,6}))?$/.exec(text) ?? [];
  if (whole === undefined)
    throw new Misuse(`${option} is an amount in USDT, like 12.5, not "${text}"`);
  return BigInt(`${sign}${whole}${part.padEnd(6, '0')}`);
}

const UNITS_MS = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** A time span like 90m, 12h or 7d, given for this option, in ms. */
export function span(option: string, text: string): number {
  const [, digits, unit] = /^([1-9][0-9]{0,5})([mhd])$/.exec(text) ?? [];
  if (digits === undefined || (unit !== 'm' && unit !== 'h' && unit !== 'd'))
    throw new Misuse(
      `${option} is a time in minutes, hours or days, like 90m, 12h or 7d, not "${text}"`,
    );
  return Number(digits) * UNITS_MS[unit];
}

const TEXT_MAX = 1_000;

export interface Decision {
  readonly actor: string;
  readonly reason: string;
}

/** The actor and the reason, trimmed. Throws `Misuse` when one is missing or is no text. */
export function decision(args: Decision): Decision {
  const [actor, reason] = [args.actor.trim(), args.reason.trim()];
  if (![actor, reason].every((text) => text.isWellFormed()))
    throw new Misuse(
      '--actor or --reason has half of a character (an unpaired surrogate), which no log can keep: type the text again',
    );
  if ([actor, reason].some((text) => text === '' || text.length > TEXT_MAX))
    throw new Misuse(
      `--actor and --reason have 1 to ${TEXT_MAX} characters each: the log keeps them for ever`,
    );
  return { actor, reason };
}

/** `, did you mean status?`, or nothing where no known word is near. */
export function didYouMean(word: string, known: readonly string[]): string {
  const near = known
    .map((each) => [each, distance(word.toLowerCase(), each.toLowerCase())] as const)
    .toSorted(([, a], [, b]) => a - b)
    .find(([each, edits]) => edits <= Math.max(1, Math.floor(each.length / 3)));
  const begun = known.filter((each) => word.length > 1 && each.startsWith(word));
  const meant = near?.[0] ?? (begun.length === 1 ? begun[0] : undefined);
  return meant === undefined ? '' : `, did you mean ${meant}?`;
}

/** Edits between two words: insertions, deletions, substitutions, swaps of neighbours. */
function distance(from: string, to: string): number {
  let before: number[] = [];
  let row = Array.from({ length: to.length + 1 }, (_, at) => at);
  for (let i = 1; i <= from.length; i++) {
    const next = [i];
    for (let j = 1; j <= to.length; j++) {
      const same = from[i - 1] === to[j - 1];
      const swapped = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
      const edits = [(row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + (same ? 0 : 1)];
      next.push(Math.min(...edits, ...(swapped ? [(before[j - 2] ?? 0) + 1] : [])));
    }
    before = row;
    row = next;
  }
  return row[to.length] ?? 0;
}
