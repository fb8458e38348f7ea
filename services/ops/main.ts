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

  status    how far the node, the log and every projection are

  --json    one JSON object instead of a table
  --stack   the stack file to take addresses from where no APP_... variable gives them; default .local/stack.json
`;

const STACK_FILE = join(import.meta.dirname, '../../.local/stack.json');

function parse(): { readonly command: string | undefined; readonly json: boolean; readonly help: boolean; readonly stack: string } {
  const options = { json: { type: 'boolean' }, help: { type: 'boolean' }, stack: { type: 'string' } } as const;
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
  return { command: positionals[0], json: values.json ?? false, help: values.help ?? false, stack: values.stack ?? STACK_FILE };
}

async function status(json: boolean, stack: string): Promise<number> {
  const config = readOpsConfig(process.env, stack);
  const log = openLog({ service: 'ops', level: 'fatal' });
  const reader = openReader({ ...config, application_name: 'ops', statement_timeout_ms: 5_000, connections_max: 1 }, log);
  const kafka = openKafka({ ...config, client_id: 'ops' }, log);
  const found = await readStatus({ node: new ChainNode(config.node_url, new AbortController().signal), kafka, reader });
  await reader.close();
  process.stdout.write(`${json ? statusJson(found) : statusText(found)}\n`);
  return found.faults.length === 0 ? 0 : 2;
}

async function main(): Promise<number> {
  const { command, json, help, stack } = parse();
  if (help || command !== 'status') {
    (help ? process.stdout : process.stderr).write(USAGE);
    return help ? 0 : 1;
  }
  return status(json, stack);
}

process.exitCode = await main().catch((error: unknown) => {
  const refused = error instanceof ConfigError || (error instanceof TypeError && 'code' in error);
  const lines =
    error instanceof ConfigError ? ['no running stack was found, and these are missing:', ...error.problems] : [messageOf(error)];
  process.stderr.write(`${lines.join('\n  ')}\n`);
  return refused ? 1 : 2;
});
