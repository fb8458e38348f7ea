/** The operator's command line: `npm run ops -- <command>`. Exits 0 done, 1 refused or bad usage, 2 fault. */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ChainNode } from '../runtime/chain-node.ts';
import { ConfigError } from '../runtime/config.ts';
import { messageOf } from '../runtime/errors.ts';
import { openKafka } from '../runtime/kafka.ts';
import { openLog } from '../runtime/log.ts';
import { openReader } from '../runtime/postgres.ts';
import { readOpsConfig } from './config.ts';
import { readStatus, statusJson, statusText } from './status.ts';

const USAGE = `usage: npm run ops -- <command> [--json] [--help]

  status         how far the node, the log and every projection are
  deposit        list, show, approve and reject deposits: deposit --help
  audit          reads the logs from their beginnings and checks every invariant of the money: audit --help
  reserve run    makes a reconciliation now: supply, ledger and custody held against each other. Exit code 2 when there can be none
  reserve runs   the reconciliations there were, newest first; --limit (20, at most 100)

  --json    JSON instead of text
  --stack   the stack file to take addresses from where no APP_... variable gives them; default .local/stack.json
`;

const STACK_FILE = join(import.meta.dirname, '../../.local/stack.json');
const STATEMENT_MS = 5_000;

interface Asked {
  /** the words of it, as in the usage */
  readonly command: string;
  readonly json: boolean;
  readonly help: boolean;
  readonly stack: string;
  readonly limit: number | undefined;
}

const OPTIONS = { json: { type: 'boolean' }, help: { type: 'boolean' }, stack: { type: 'string' }, limit: { type: 'string' } } as const;

function parse(): Asked {
  const { values, positionals } = parseArgs({ options: OPTIONS, allowPositionals: true });
  const { json = false, help = false, stack = STACK_FILE, limit = '20' } = values;
  return { command: positionals.join(' '), json, help, stack, limit: /^(?:[1-9][0-9]?|100)$/.test(limit) ? Number(limit) : undefined };
}

/** What each command does; its exit code. What only some of them need, and takes long to load, they load themselves. */
const COMMANDS: Readonly<Record<string, (asked: Asked) => Promise<number>>> = {
  status,
  'reserve run': reserveRun,
  'reserve runs': reserveRuns,
};

async function status({ json, stack }: Asked): Promise<number> {
  const config = readOpsConfig(process.env, stack);
  const log = openLog({ service: 'ops', level: 'fatal' });
  const reader = openReader({ ...config, application_name: 'ops', statement_timeout_ms: STATEMENT_MS, connections_max: 1 }, log);
  const kafka = openKafka({ ...config, client_id: 'ops' }, log);
  const found = await readStatus({ node: new ChainNode(config.node_url, new AbortController().signal), kafka, reader });
  await reader.close();
  process.stdout.write(`${json ? statusJson(found) : statusText(found)}\n`);
  return found.faults.length === 0 ? 0 : 2;
}

async function reserveRun({ json, stack }: Asked): Promise<number> {
  const { readReserveConfig } = await import('./reserve-config.ts');
  const { reconcile, runsText } = await import('./reserve.ts');
  const config = readReserveConfig(process.env, stack);
  const log = openLog({ service: 'ops', level: 'fatal' });
  const run = await reconcile(config, openKafka({ ...config, client_id: 'ops' }, log), log);
  process.stdout.write(`${json ? JSON.stringify(run) : runsText([run])}\n`);
  return 0;
}

async function reserveRuns({ json, stack, limit }: Asked): Promise<number> {
  if (limit === undefined) return refuse();
  const { listRuns, runsText } = await import('./reserve.ts');
  const config = readOpsConfig(process.env, stack);
  const log = openLog({ service: 'ops', level: 'fatal' });
  const reader = openReader({ ...config, application_name: 'ops', statement_timeout_ms: STATEMENT_MS, connections_max: 1 }, log);
  const runs = await listRuns(reader, limit);
  await reader.close();
  process.stdout.write(`${json ? JSON.stringify(runs) : runsText(runs)}\n`);
  return 0;
}

function refuse(): number {
  process.stderr.write(USAGE);
  return 1;
}

async function main(): Promise<number> {
  const [group, ...args] = process.argv.slice(2);
  // what each takes is its own
  if (group === 'deposit') return (await import('./deposit.ts')).deposit(args, STACK_FILE);
  if (group === 'audit') return (await import('./audit.ts')).audit(args, STACK_FILE);
  const asked = parse();
  if (asked.help) {
    process.stdout.write(USAGE);
    return 0;
  }
  const command = Object.hasOwn(COMMANDS, asked.command) ? COMMANDS[asked.command] : undefined;
  return command === undefined ? refuse() : command(asked);
}

process.exitCode = await main().catch((error: unknown) => {
  const refused = error instanceof ConfigError || (error instanceof TypeError && 'code' in error);
  const lines =
    error instanceof ConfigError ? ['no running stack was found, and these are missing:', ...error.problems] : [messageOf(error)];
  process.stderr.write(`${lines.join('\n  ')}\n`);
  return refused ? 1 : 2;
});
