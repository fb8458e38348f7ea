/** `ops reserve run|runs` as it is asked for and answered. */
import { openKafka } from '../../runtime/kafka/client.ts';
import { openLog } from '../../runtime/process/log.ts';
import { openReader } from '../../runtime/postgres/pool.ts';
import { readOpsConfig } from '../config.ts';
import { readReserveConfig } from './config.ts';
import { listRuns, reconcile, runsText } from './runs.ts';
import { commandOf, Misuse, readArguments, refuseWords } from '../usage.ts';

const USAGE = `usage: npm run ops -- reserve <command> [--json] [--help]

  run     makes a reconciliation now: supply, ledger and custody held against each other
  runs    the reconciliations there were, newest first; --limit (20, at most 100)

  --json    JSON instead of text
  --stack   the stack file to take addresses from where no APP_... variable gives them; default .local/stack.json, in APP_LOCAL_DIR where that is set

Exits 0 when it is done, 1 when it was asked wrongly, 2 when there can be no reconciliation now.
`;

const OPTIONS = {
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
  stack: { type: 'string' },
  limit: { type: 'string', default: '20' },
} as const;
const COMMANDS = { name: 'reserve', options: { run: [], runs: ['limit'] }, usage: USAGE };
const STATEMENT_MS = 5_000;

/** `args` are those behind `reserve`. The exit code. */
export async function reserve(args: readonly string[], stackFile: string): Promise<number> {
  const { values, positionals } = readArguments(args, OPTIONS, USAGE);
  const { json, help, limit, stack = stackFile } = values;
  if (help) {
    process.stdout.write(USAGE);
    return 0;
  }
  const [command, ...words] = commandOf(args, positionals, COMMANDS);
  refuseWords(`reserve ${command}`, words, USAGE);
  if (!/^(?:[1-9][0-9]?|100)$/.test(limit))
    throw new Misuse('--limit is a whole number from 1 to 100');
  return command === 'run' ? make(json, stack) : show(json, stack, Number(limit));
}

async function make(json: boolean, stack: string): Promise<number> {
  const config = readReserveConfig(process.env, stack);
  const log = openLog({ service: 'ops', level: 'fatal' });
  const run = await reconcile(config, openKafka({ ...config, client_id: 'ops' }, log), log, say);
  process.stdout.write(`${json ? JSON.stringify(run) : runsText([run])}\n`);
  return 0;
}

async function show(json: boolean, stack: string, limit: number): Promise<number> {
  const log = openLog({ service: 'ops', level: 'fatal' });
  const config = readOpsConfig(process.env, stack);
  const reader = openReader(
    { ...config, application_name: 'ops', statement_timeout_ms: STATEMENT_MS, connections_max: 1 },
    log,
  );
  try {
    const runs = await listRuns(reader, limit);
    process.stdout.write(`${json ? JSON.stringify(runs) : runsText(runs)}\n`);
    return 0;
  } finally {
    await reader.close();
  }
}

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}
