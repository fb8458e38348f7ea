/** The command line of the local stack: `node infra/local/main.ts <command>`. */
import { existsSync } from 'node:fs';
import yargs from 'yargs';
import { hideBin } from 'yargs/helpers';
import { DONE, down, FAULT, REFUSED, start, up } from './cli/commands.ts';
import { terminalReport } from './cli/report.ts';
import { errorText, Refusal, StackFault } from './process/run-program.ts';
import { folderOf } from './stack/folder.ts';
import { OFFSET } from './cluster/ports.ts';
import { portNames, portVariable } from '../services/ports.ts';
import { services } from '../services/services.ts';

const SETTINGS = `Settings (environment):
  APP_NETWORK     testnet (default) or mainnet
  APP_LOG_LEVEL   of every service: info (default), debug, ...
  APP_LOCAL_DIR   the folder of data and logs: .local (default); below it, cluster has those of a
                  cluster
  APP_CACHE_DIR   the folder of the servers' programs, which are fetched once
  JAVA_HOME       the Java to use (17 or newer)
  ports           ${portNames.map(portVariable).join(', ')}

Settings of a cluster, which the ports above do not move:
  ${OFFSET}  how far its ports lie above the defaults of those (10000)
  APP_KAFKA_PREFIX         before the names of its topics, groups and subjects

Other variables that begin with APP_ go to the services: docs/configuration.md.`;

const STACK = {
  'servers-only': { type: 'boolean', default: false, describe: 'without devnet and services' },
  cluster: {
    type: 'boolean',
    default: false,
    describe: 'secured servers with replicas, and two instances of every service',
  },
} as const;
const WIPE = {
  wipe: { type: 'boolean', default: false, describe: 'remove the data too' },
} as const;

async function main(): Promise<number> {
  if (Number(process.versions.node.split('.')[0]) < 26)
    throw new StackFault(
      `the stack needs Node 26, not ${process.version}: run it through npm (npm start)`,
    );
  const { env } = process;
  const report = terminalReport(process.stdout);
  let exit_code = DONE;
  const parser = yargs(hideBin(process.argv));
  for (const [name, run, describe] of [
    ['start', start, 'run the whole system in the foreground; Ctrl-C drains and stops it'],
    ['up', up, 'run the whole system in the background; returns when everything is ready'],
  ] as const)
    parser.command(name, describe, STACK, async ({ serversOnly: servers_only, cluster }) => {
      const folder = folderOf(env, cluster);
      exit_code = await run({ folder, env, report, servers_only, cluster });
    });
  const names = services.map(({ name }) => name);
  parser.command(
    'dev <service>',
    'as start, and this service starts again when its code changes',
    (args) => args.positional('service', { type: 'string', choices: names, demandOption: true }),
    async ({ service: watched }) => {
      const folder = folderOf(env, false);
      report.line(`  ${watched}: logs in ${folder.logs}, debugger at 127.0.0.1:9229`);
      const options = { folder, env, report, servers_only: false, cluster: false, watched };
      exit_code = await start(options);
    },
  );
  await parser
    .scriptName('npm run')
    .usage('usage: $0 <command> [-- options]')
    .command('down', 'stop the system, cluster or not; its data stays', WIPE, async ({ wipe }) => {
      const cluster = folderOf(env, true);
      if (existsSync(cluster.root)) await down(cluster, wipe, report);
      exit_code = await down(folderOf(env, false), wipe, report);
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
  process.stderr.write(`\n${errorText(error)}\n`);
  process.exitCode = error instanceof Refusal ? REFUSED : FAULT;
}
