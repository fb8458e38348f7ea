/**
 * An auditor with nothing but a copy of Kafka's data folder and an empty database must get the same
 * read models, and a passing audit.
 */
import { cpSync, existsSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { PROJECTIONS } from '../../services/projector/registry.ts';
import { readEnds } from '../../services/projector/engine/progress.ts';
import { compareTables, TEXT_SETTINGS } from '../../services/projector/rebuild/compare.ts';
import { readOffsets } from '../../services/projector/rebuild/switch.ts';
import { toTronAddress } from '../../schemas/tron-address.ts';
import { freshDatabase } from '../support/database.ts';
import { USDT_CONTRACT } from '../support/deposit-log.ts';
import { testKafka } from '../support/kafka.ts';
import type { ServiceHandle, Stack } from '../support/stack.ts';
import { until } from '../support/until.ts';
import { spawnOps } from './ops-run.ts';

/** The projector of each projection: its name with a dash for each underscore. */
export const PROJECTORS = PROJECTIONS.map(({ name }) => `projector-${name.replaceAll('_', '-')}`);
/** In the order of the data flow: when one has ended, the next has nothing new to come. */
const WRITERS = ['deposit-gateway', 'tron-watcher', 'treasury', 'chain-ingester', 'devnet'];

/** Brings the running system to rest, and audits it as somebody else would. What does not hold. */
export async function auditedElsewhere(
  stack: Stack,
  running: ReadonlyMap<string, ServiceHandle>,
): Promise<readonly string[]> {
  const { postgres_url: ours } = stack.addresses;
  for (const name of WRITERS) await running.get(name)?.kill('SIGTERM');
  await atEnd(stack, ours);
  for (const service of running.values()) await service.kill('SIGTERM');

  const data = join(stack.folder.data, 'kafka');
  if (!existsSync(data))
    return ["Kafka's data folder is not where it was looked for: this run needs the local servers"];
  await stack.servers.kafka.stop();
  cpSync(data, `${data}-copy`, { recursive: true });
  renameSync(data, `${data}-original`);
  renameSync(`${data}-copy`, data);
  await stack.servers.kafka.start();

  const database = await freshDatabase(stack.addresses);
  const projectors = [];
  for (const name of PROJECTORS)
    projectors.push(
      await stack.spawnService(name, {
        APP_POSTGRES_URL: database.writer_url,
        APP_LOG_LEVEL: 'warn',
      }),
    );
  for (const projector of projectors) await projector.ready();
  await atEnd(stack, database.writer_url);
  for (const projector of projectors) await projector.kill('SIGTERM');

  const violations = await withClient(ours, (live) =>
    withClient(database.writer_url, (fresh) => differences(live, fresh)),
  );
  const audit = spawnOps(
    { ...stack.addresses, postgres_reader_url: database.reader_url },
    ['audit'],
    {
      APP_USDT_CONTRACT: toTronAddress(USDT_CONTRACT),
    },
  );
  const code = await audit.ended();
  return code === 0
    ? violations
    : [...violations, `the audit elsewhere ended with ${code}: ${audit.printed()}`];
}

async function atEnd(stack: Stack, url: string): Promise<void> {
  const kafka = testKafka(stack.addresses);
  await withClient(url, async (client) => {
    for (const { name, topics } of PROJECTIONS) {
      const isDone = async (): Promise<boolean> => {
        const [reached, ends] = [await readOffsets(client, name), await readEnds(kafka, topics)];
        return [...ends].every(([key, end]) => (reached.get(key) ?? 0n) === end);
      };
      await until(isDone, `${name} to come to the end of its log`);
    }
  });
}

async function differences(live: Client, fresh: Client): Promise<readonly string[]> {
  const found: string[] = [];
  for (const { name, tables } of PROJECTIONS) {
    for (const { table, difference } of await compareTables(
      { client: live, schema: name },
      { client: fresh, schema: name },
      tables,
    ))
      if (difference !== undefined)
        found.push(`elsewhere ${name}.${table} is another: ${JSON.stringify(difference)}`);
  }
  return found;
}

async function withClient<Result>(
  url: string,
  use: (client: Client) => Promise<Result>,
): Promise<Result> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(TEXT_SETTINGS);
    return await use(client);
  } finally {
    await client.end();
  }
}
