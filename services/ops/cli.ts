/** The operator's command line: its commands, their options and help, completion for shells. */
import { join } from 'node:path';
import yargs, { type Argv } from 'yargs';
import { LogLost } from '../runtime/kafka/position.ts';
import { ConfigError } from '../runtime/process/config.ts';
import { messageOf } from '../runtime/process/errors.ts';
import { addCommands } from './commands.ts';
import { didYouMean, MISSING, Misuse, type Commands, type Run } from './usage.ts';

const NAME = 'npm run ops --';
const COLUMNS_MAX = 100;
const REPEATABLE = new Set(['partition', 'key', 'type', 'header', 'addresses']);

const LOCAL_FOLDER = process.env['APP_LOCAL_DIR'] ?? join(import.meta.dirname, '../../.local');

const SHARED = {
  json: { type: 'boolean', describe: 'JSON instead of text', global: true },
  stack: {
    type: 'string',
    requiresArg: true,
    describe: 'stack file with the addresses that no APP_... variable gives',
    default: join(LOCAL_FOLDER, 'stack.json'),
    defaultDescription: '.local/stack.json, in APP_LOCAL_DIR where set',
    global: true,
  },
} as const;

/** Runs a command. The exit code: 0 done, 1 refused or bad usage, 2 fault. */
export async function runOps(words: readonly string[]): Promise<number> {
  let code = 0;
  const run: Run = (command) => async (args) => {
    code = await command(args);
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
    .version(false)
    .help('help', 'show help')
    .alias('help', 'h')
    .options(SHARED)
    .demandCommand(1, 1, MISSING)
    .strict()
    .check(refuseRepeated)
    .epilogue(
      'Exits 0 when done, 1 when refused or called wrongly, 2 when something did not answer.',
    )
    .exitProcess(false)
    .fail((message, error) => {
      throw isUsage(error) ? misuse(parser, message, words) : error;
    });
  addCommands(commands, run);
  try {
    await parser.parseAsync();
    return code;
  } catch (error) {
    process.stderr.write(`${linesOf(error).join('\n  ')}\n`);
    return error instanceof Misuse || error instanceof ConfigError ? 1 : 2;
  }
}

/** The problem and what to do: the help where words are missing, otherwise where the help is. */
function misuse(parser: Argv, problem: string, words: readonly string[]): Misuse {
  let help = '';
  parser.showHelp((text) => (help = text));
  if (problem === MISSING) return new Misuse(`${problem}\n\n${help}`);
  if (problem.startsWith('Not enough non-option'))
    return new Misuse(`an argument is missing\n\n${help}`);
  const [path = NAME] = /npm run ops --(?: [a-z][a-z-]*)*/.exec(help) ?? [];
  return new Misuse(
    `${problem}${suggestion(problem, words, help)}\n${path} --help shows how it is called`,
  );
}

/** For an unknown option or command: the nearest one of those that the help shows. */
function suggestion(problem: string, words: readonly string[], help: string): string {
  const [, unknown] = /^Unknown arguments?: ([^,\s]+)/.exec(problem) ?? [];
  if (unknown === undefined) return '';
  const isOption = words.some((word) => word.split('=')[0] === `--${unknown}`);
  const known = isOption
    ? help.matchAll(/--[a-z][a-z-]*(?= )/g)
    : help.matchAll(/(?<=^ {2}npm run ops -- (?:[a-z]+ )?)[a-z][a-z-]*(?= )/gm);
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
  if (error instanceof ConfigError)
    return [
      'no stack file gives what is missing below: start the stack (npm run up), name its file (--stack) or its folder (APP_LOCAL_DIR), or set:',
      ...error.problems,
    ];
  if (error instanceof LogLost) return [error.message, `what to do: ${error.remedy}`];
  return [messageOf(error)];
}
