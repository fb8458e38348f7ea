import { inspect, parseArgs } from 'node:util';
import { down } from './down.ts';
import { codeOf, Refusal, StackFault } from './fault.ts';
import { folderOf } from './folder.ts';
import { portNames, portVariable } from './ports.ts';
import { terminalReport } from './report.ts';
import { FAULT, REFUSED } from './run.ts';
import { start } from './start.ts';
import { supervise, up } from './up.ts';

const usage = `usage: node infra/local/main.ts <command>

  start           the whole system in the foreground; Ctrl-C drains and stops it
  up              the same, detached: returns when everything is ready
  down [--wipe]   stops it; with --wipe its data goes too

settings (environment):
  APP_NETWORK     testnet (default) or mainnet
  APP_LOG_LEVEL   of every service: info (default), debug, ...
  APP_LOCAL_DIR   where data and logs lie: .local (default)
  APP_CACHE_DIR   where the servers are kept that are fetched once
  JAVA_HOME       the Java to use (17 or newer)
  ports           ${portNames
    .map(portVariable)
    .join(', ')
    .replace(/(.{1,72})(?:\s|$)/g, '$1\n                  ')
    .trimEnd()}
`;

async function main(): Promise<number> {
  if (Number(process.versions.node.split('.')[0]) < 26)
    throw new StackFault(
      `this needs Node 26, not ${process.version}: run it through npm (npm start)`,
    );
  const options = {
    wipe: { type: 'boolean' },
    help: { type: 'boolean', short: 'h' },
    'servers-only': { type: 'boolean' },
  } as const;
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
  const [command, ...others] = positionals;
  if (values.help === true) {
    process.stdout.write(usage);
    return 0;
  }
  const report = terminalReport(process.stdout, () => performance.now());
  const folder = folderOf(process.env);
  const boot = { folder, env: process.env, report, servers_only: values['servers-only'] === true };
  if (others.length === 0 && (values.wipe !== true || command === 'down')) {
    if (command === 'start') return await start(boot);
    if (command === 'up') return await up(boot);
    if (command === 'supervise') return await supervise(boot);
    if (command === 'down') return await down(folder, values.wipe === true, report);
  }
  process.stderr.write(usage);
  return REFUSED;
}

try {
  process.exitCode = await main();
} catch (error) {
  const refused = error instanceof Refusal || codeOf(error)?.startsWith('ERR_PARSE_ARGS') === true;
  const said =
    error instanceof Error && (refused || error instanceof StackFault)
      ? error.message
      : inspect(error);
  process.stderr.write(`\n${said}\n`);
  process.exitCode = refused ? REFUSED : FAULT;
}
