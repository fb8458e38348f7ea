/** The operator's command line: `npm run ops -- <command>`. Exits 0 done, 1 refused or bad usage, 2 fault. */
import { join } from 'node:path';
import { ConfigError } from '../runtime/process/config.ts';
import { messageOf } from '../runtime/process/errors.ts';
import { LogLost } from '../runtime/kafka/position.ts';
import { didYouMean, Misuse } from './usage.ts';

const STACK_FILE = join(
  process.env['APP_LOCAL_DIR'] ?? join(import.meta.dirname, '../../.local'),
  'stack.json',
);

interface Command {
  readonly about: string;
  /** `args` are those behind the command's name; the exit code. What it needs is loaded only when it is asked for. */
  readonly run: (args: readonly string[], stackFile: string) => Promise<number>;
}

const COMMANDS: Readonly<Record<string, Command>> = {
  status: {
    about:
      'the whole system at a glance: node, log, projections with lag and rate, services with what they report',
    run: async (...given) => (await import('./status/command.ts')).status(...given),
  },
  rebuild: {
    about:
      'builds the tables of a projection anew beside those that are read, and puts them in their place; or puts the earlier ones back',
    run: async (...given) => (await import('./rebuild/command.ts')).rebuild(...given),
  },
  verify: {
    about: 'folds the log of a projection anew and compares every row of its tables with it',
    run: async (...given) => (await import('./rebuild/verify.ts')).verify(...given),
  },
  tail: {
    about:
      'the records of a topic, decoded: filtered by key, type, header or expression, followed, as text or JSON lines',
    run: async (...given) => (await import('./tail/command.ts')).tail(...given),
  },
  deposit: {
    about: 'list, show, approve and reject deposits',
    run: async (...given) => (await import('./deposit/command.ts')).deposit(...given),
  },
  reserve: {
    about: 'reconciliations: make one now, list those there were',
    run: async (...given) => (await import('./reserve/command.ts')).reserve(...given),
  },
  quarantine: {
    about: 'the records that halt a projection: list them, have one passed over',
    run: async (...given) => (await import('./quarantine/command.ts')).quarantine(...given),
  },
  audit: {
    about: 'reads the logs from their beginnings and checks every invariant of the money',
    run: async (...given) => (await import('./audit/command.ts')).audit(...given),
  },
  asyncapi: {
    about: 'the topics as an AsyncAPI document',
    run: async (args) => (await import('./asyncapi.ts')).asyncapi(args),
  },
};

const USAGE = `usage: npm run ops -- <command> [--json] [--help]

${Object.entries(COMMANDS)
  .map(([name, { about }]) => `  ${name.padEnd(12)} ${about}`)
  .join('\n')}

  --help    behind a command: what it takes
  --json    JSON instead of text
  --stack   the stack file to take addresses from where no APP_... variable gives them; default .local/stack.json, in APP_LOCAL_DIR where that is set

Exits 0 when it is done, 1 when it is refused or was asked wrongly, 2 when something did not answer.
`;

async function main([name, ...args]: readonly string[]): Promise<number> {
  if (name === '--help' || name === '-h' || name === 'help') {
    process.stdout.write(USAGE);
    return 0;
  }
  if (name === undefined) throw new Misuse('a command is missing', USAGE);
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (command === undefined)
    throw new Misuse(
      `there is no command ${name}${didYouMean(name, Object.keys(COMMANDS))}`,
      USAGE,
    );
  return command.run(args, STACK_FILE);
}

/** An option that there is not: Node's own word for it. */
function isBadOption(error: unknown): error is TypeError {
  return (
    error instanceof TypeError && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS')
  );
}

function linesOf(error: unknown): readonly string[] {
  if (error instanceof ConfigError)
    return ['no running stack was found, and these are missing:', ...error.problems];
  if (error instanceof LogLost) return [error.message, `what to do: ${error.remedy}`];
  return [messageOf(error)];
}

process.exitCode = await main(process.argv.slice(2)).catch((error: unknown) => {
  process.stderr.write(`${linesOf(error).join('\n  ')}\n`);
  return error instanceof Misuse || error instanceof ConfigError || isBadOption(error) ? 1 : 2;
});
