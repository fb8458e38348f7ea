/** The operator's command line: its commands, their options and help, completion for shells. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import yargs, { type Argv } from 'yargs';
import { LogLost } from '../runtime/kafka/position.ts';
import { ConfigError } from '../runtime/process/config.ts';
import { Fault, messageOf } from '../runtime/process/errors.ts';
import { addCommands } from './commands.ts';
import { jsonOf } from './connections.ts';
import {
  didYouMean,
  MISSING,
  Misuse,
  timeout,
  type Commands,
  type Run,
  type SharedArguments,
} from './usage.ts';

const NAME = 'ops';
const { version }: { readonly version: string } = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8'),
);
const COLUMNS_MAX = 100;
const REPEATABLE = new Set([
  'partition',
  'key',
  'type',
  'header',
  'addresses',
  'ids',
  'watcher',
  'set',
]);

const LOCAL_FOLDER = process.env['APP_LOCAL_DIR'] ?? join(import.meta.dirname, '../../.local');
/** The folder of the stack that runs, else of one that does not. */
const STACK_FOLDER = [LOCAL_FOLDER, join(LOCAL_FOLDER, 'cluster')].find(isRunning) ?? LOCAL_FOLDER;

/** Whether the supervisor of a folder lives; its file stays when it was killed. */
function isRunning(folder: string): boolean {
  try {
    const { pid }: { readonly pid: number } = JSON.parse(
      readFileSync(join(folder, 'running.json'), 'utf8'),
    );
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

const SHARED = {
  json: { type: 'boolean', describe: 'JSON instead of text', global: true },
  stack: {
    type: 'string',
    requiresArg: true,
    describe: 'stack file with the addresses that no APP_... variable gives',
    default: join(STACK_FOLDER, 'stack.json'),
    defaultDescription:
      '.local/stack.json, in APP_LOCAL_DIR where set; .local/cluster/stack.json where only the cluster runs',
    global: true,
  },
  timeout: {
    type: 'string',
    requiresArg: true,
    describe: 'end with exit code 2 after so many seconds',
    defaultDescription: 'status: 8 for each server; others take as long as they need',
    global: true,
  },
} as const;

/**
 * Runs a command. The exit code: 0 done, 1 refused or bad usage, 2 fault. An error is text on
 * stderr, with --json the last line there, as one object.
 */
export async function runOps(given: readonly string[]): Promise<number> {
  const words = given[0] === 'help' ? [...given.slice(1), '--help'] : given;
  let code = 0;
  const run: Run = (command, keepsTime) => async (args) => {
    code = keepsTime === true ? await command(args) : await inTime(args, () => command(args));
  };
  const parser: Argv = yargs([...words]);
  const commands: Commands = parser
    .scriptName(NAME)
    .usage(`usage: ${NAME} <command> [options]`)
    .parserConfiguration({
      'boolean-negation': false,
      'camel-case-expansion': false,
      'dot-notation': false,
      'greedy-arrays': false,
      'parse-numbers': false,
      'parse-positional-numbers': false,
    })
    .detectLocale(false)
    .wrap(Math.min(COLUMNS_MAX, process.stdout.columns ?? COLUMNS_MAX))
    .version('version', 'show the version', version)
    .help('help', 'show help')
    .alias('help', 'h')
    .options(SHARED)
    .demandCommand(1, 1, MISSING)
    .strict()
    .check(refuseRepeated)
    .epilogue(
      `${NAME} help <command> tells more about a command.\n\n` +
        'Exits 0 when done, 1 when refused or called wrongly, 2 when something did not answer.',
    )
    .exitProcess(false)
    .fail((message, error) => {
      throw isUsage(error) ? misuse(parser, message, words) : error;
    });
  addCommands(commands, run);
  try {
    if (given[0] === 'help') process.stdout.write(await helpOf(parser, words));
    else await parser.parseAsync();
    return code;
  } catch (error) {
    const text = words.includes('--json') ? jsonOf(errorOf(error)) : linesOf(error).join('\n  ');
    process.stderr.write(`${text}\n`);
    return error instanceof Misuse || error instanceof ConfigError ? 1 : 2;
  }
}

/** Rejects after the seconds of --timeout where it is given; what was begun may go on. */
async function inTime(args: SharedArguments, run: () => Promise<number>): Promise<number> {
  if (args.timeout === undefined) return run();
  const late = after(timeout(args, 0), undefined, { ref: false }).then(() => {
    throw new Fault(
      'timeout',
      `not done within ${args.timeout} s: look with ops status what does not answer; a decision that was sent may still be recorded, and repeating it does no harm`,
      { retry: true },
    );
  });
  return Promise.race([run(), late]);
}

/** The problem and what to do: the help where words are missing, otherwise where the help is. */
function misuse(parser: Argv, problem: string, words: readonly string[]): Misuse {
  let help = '';
  parser.showHelp((text) => (help = text));
  if (problem === MISSING) return new Misuse(`${problem}\n\n${help}`);
  if (problem.startsWith('Not enough non-option'))
    return new Misuse(`an argument is missing\n\n${help}`);
  return new Misuse(
    `${problem}${suggestion(problem, words, help)}\n${pathIn(help)} --help shows how it is called`,
  );
}

/** The command that a help is about. */
function pathIn(help: string): string {
  return /(?<=^(?:usage: )?)ops(?: [a-z][a-z-]*)*/.exec(help)?.[0] ?? NAME;
}

/** Throws `Misuse` for a command that does not exist: yargs would show the help of its group. */
async function helpOf(parser: Argv, words: readonly string[]): Promise<string> {
  let help = '';
  await parser.parseAsync([...words], {}, (_error, _args, output) => {
    help = output;
  });
  const path = pathIn(help);
  const unknown = words.filter((word) => !word.startsWith('-'))[path.split(' ').length - 1];
  if (unknown === undefined || !help.includes('\nCommands:')) return `${help}\n`;
  const near = suggestion(`Unknown argument: ${unknown}`, [], help);
  throw new Misuse(`${path} has no command ${unknown}${near}\n${path} --help shows all`);
}

/** For an unknown choice, option or command: the nearest one of those that there are. */
function suggestion(problem: string, words: readonly string[], help: string): string {
  const [, given, choices = ''] = /Given: "([^"]*)", Choices: (.*)$/m.exec(problem) ?? [];
  if (given !== undefined)
    return didYouMean(
      given,
      Array.from(choices.matchAll(/"([^"]*)"/g), ([, choice = '']) => choice),
    );
  const [, unknown] = /^Unknown arguments?: ([^,\s]+)/.exec(problem) ?? [];
  if (unknown === undefined) return '';
  const isOption = words.some((word) => word.split('=')[0] === `--${unknown}`);
  const known = isOption
    ? help.matchAll(/--[a-z][a-z-]*(?= )/g)
    : help.matchAll(/(?<=^ {2}ops (?:[a-z]+ )?)[a-z][a-z-]*(?= )/gm);
  return didYouMean(
    isOption ? `--${unknown}` : unknown,
    [...known].map(([word]) => word),
  );
}

/** Whether yargs itself failed the call, not a command. */
function isUsage(error: Error | undefined): boolean {
  return error === undefined || error.name === 'YError';
}

function refuseRepeated(args: Readonly<Record<string, unknown>>): true {
  for (const [name, value] of Object.entries(args))
    if (Array.isArray(value) && name !== '_' && !REPEATABLE.has(name))
      throw new Misuse(`--${name} is given twice`);
  return true;
}

function linesOf(error: unknown): readonly string[] {
  if (error instanceof ConfigError) return error.problems;
  if (error instanceof LogLost) return [error.message, `what to do: ${error.remedy}`];
  return [messageOf(error)];
}

/** `error` is stable, snake_case: of a refusal its reason. */
function errorOf(error: unknown) {
  const message = messageOf(error);
  if (error instanceof ConfigError) return { error: 'settings', message, problems: error.problems };
  if (error instanceof LogLost) return { error: 'log_lost', message, remedy: error.remedy };
  if (error instanceof Misuse) return { error: error.code, message };
  return error instanceof Fault
    ? { error: error.code, message, retry: error.retry }
    : { error: 'bug', message };
}
