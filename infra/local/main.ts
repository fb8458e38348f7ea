/** The command line of the local stack: `node infra/local/main.ts <command>`. */
import { inspect } from 'node:util';
import yargs from 'yargs';
import { hideBin } from 'yargs/helpers';
import { DONE, down, FAULT, REFUSED, start, up } from './cli/commands.ts';
import { terminalReport } from './cli/report.ts';
import { Refusal, StackFault } from './process/run-program.ts';
import { folderOf } from './stack/folder.ts';
import { portNames, portVariable } from '../services/ports.ts';

const SETTINGS = `Settings (environment):
  APP_NETWORK     testnet (default) or mainnet
  APP_LOG_LEVEL   of every service: info (default), debug, ...
  APP_LOCAL_DIR   the folder of data and logs: .local (default)
  APP_CACHE_DIR   the folder of the servers' programs, which are fetched once
  JAVA_HOME       the Java to use (17 or newer)
  ports           ${portNames.map(portVariable).join(', ')}`;

const SERVERS_ONLY = {
  'servers-only': { type: 'boolean', default: false, describe: 'without devnet and services' },
} as const;
const WIPE = {
  wipe: { type: 'boolean', default: false, describe: 'remove the data too' },
} as const;

async function main(): Promise<number> {
  if (Number(process.versions.node.split('.')[0]) < 26)
    throw new StackFault(
      `the stack needs Node 26, not ${process.version}: run it through npm (npm start)`,
    );
  const options = {
    folder: folderOf(process.env),
    env: process.env,
    report: terminalReport(process.stdout),
  };
  let exit_code = DONE;
  const parser = yargs(hideBin(process.argv));
  for (const [name, run, describe] of [
    ['start', start, 'run the whole system in the foreground; Ctrl-C drains and stops it'],
    ['up', up, 'run the whole system in the background; returns when everything is ready'],
  ] as const)
    parser.command(name, describe, SERVERS_ONLY, async ({ serversOnly: servers_only }) => {
      exit_code = await run({ ...options, servers_only });
    });
  await parser
    .scriptName('npm run')
    .usage('usage: $0 <command> [-- options]')
    .command('down', 'stop the system; its data stays', WIPE, async ({ wipe }) => {
      exit_code = await down(options.folder, wipe, options.report);
    })
    .demandCommand(1, 1, 'Name a command.', 'Name one command.')
    .strict()
    .recommendCommands()
    .epilogue(SETTINGS)
    .version(false)
    .wrap(100)
    .fail((message, error, help) => {
      if (error !== undefined) throw error;
      help.showHelp();
      throw new Refusal(message);
    })
    .parseAsync();
  return exit_code;
}

try {
  process.exitCode = await main();
} catch (error) {
  process.stderr.write(`\n${error instanceof StackFault ? error.message : inspect(error)}\n`);
  process.exitCode = error instanceof Refusal ? REFUSED : FAULT;
}
