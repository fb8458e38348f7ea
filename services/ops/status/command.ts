/** `ops status` as it is asked for and answered. */
import { ChainNode } from '../../runtime/clt-node.ts';
import { openKafka } from '../../runtime/kafka/client.ts';
import { openLog } from '../../runtime/process/log.ts';
import { openReader } from '../../runtime/postgres/pool.ts';
import { localServices, readOpsConfig } from '../config.ts';
import { readStatus, statusJson, statusText } from './status.ts';
import { readArguments, refuseWords } from '../usage.ts';

const USAGE = `usage: npm run ops -- status [--json] [--help]

How far the node, the log and every projection are, how many records a second it applies, and of each service whether it is ready and its main figures.

  --json    JSON instead of text
  --stack   the stack file to take addresses from where no APP_... variable gives them; default .local/stack.json, in APP_LOCAL_DIR where that is set

Exits 0 when all is well, 2 when something does not answer or is not as it must be.
`;

const OPTIONS = {
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
  stack: { type: 'string' },
} as const;
const STATEMENT_MS = 5_000;

/** `args` are those behind `status`. The exit code. */
export async function status(args: readonly string[], stackFile: string): Promise<number> {
  const { values, positionals } = readArguments(args, OPTIONS, USAGE);
  if (values.help) {
    process.stdout.write(USAGE);
    return 0;
  }
  refuseWords('status', positionals, USAGE);
  const config = readOpsConfig(process.env, values.stack ?? stackFile);
  const log = openLog({ service: 'ops', level: 'fatal' });
  const reader = openReader(
    { ...config, application_name: 'ops', statement_timeout_ms: STATEMENT_MS, connections_max: 1 },
    log,
  );
  const kafka = openKafka({ ...config, client_id: 'ops' }, log);
  const services = localServices(values.stack ?? stackFile);
  const found = await readStatus({
    node: new ChainNode(config.node_url, new AbortController().signal),
    kafka,
    reader,
    services,
  });
  await reader.close();
  process.stdout.write(`${values.json ? statusJson(found) : statusText(found)}\n`);
  return found.faults.length === 0 ? 0 : 2;
}
