/**
 * Gives the accounts of the cluster that runs on this machine the passwords of its files, and waits
 * until all replicas are in sync: `infra/node.sh infra/local/cluster/settle.ts`.
 */
import { existsSync, readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { setTimeout as pause } from 'node:timers/promises';
import { Kafka, logLevel } from 'kafkajs';
import { asDefault, settleRedis } from '../../cluster/redis-passwords.ts';
import { setPasswords } from '../../kafka/users.ts';
import { postgresUrl, settlePostgres, withClient } from '../../postgres/databases.ts';
import { folderOf, type Folder } from '../stack/folder.ts';
import { Refusal } from '../process/run-program.ts';
import type { ClusterPorts } from './ports.ts';
import {
  brokerConnection,
  HOST,
  openSecrets,
  postgresAccess,
  type ClusterSecrets,
} from './servers.ts';

const POLL_MS = 200;
const TOLD_MS = 5_000;

type Say = (line: string) => void;

async function settle(folder: Folder, say: Say): Promise<void> {
  if (!existsSync(folder.stack_file))
    throw new Refusal(`no cluster of ${folder.root} runs: npm run up -- --cluster starts it`);
  const { ports }: { readonly ports: ClusterPorts } = JSON.parse(
    readFileSync(folder.stack_file, 'utf8'),
  );
  await settleCluster(ports, await openSecrets(folder), say);
}

/** Resolves when all replicas are in sync; says for which it waits. */
export async function settleCluster(
  ports: ClusterPorts,
  secrets: ClusterSecrets,
  say: Say,
): Promise<void> {
  const { passwords } = secrets;
  const kafka = new Kafka({ ...brokerConnection(ports, secrets), logLevel: logLevel.NOTHING });
  await setPasswords(kafka, passwords.kafka);
  say(`Kafka: ${Object.keys(passwords.kafka).length} accounts`);

  const access = postgresAccess(secrets);
  const [first, second] = ports;
  const hosts = [first, second].map(({ postgres }) => `${HOST}:${postgres}`);
  for (const host of hosts)
    await settlePostgres(host, access).catch((cause: unknown) => {
      const why = cause instanceof Error ? cause.message : String(cause);
      throw new Error(`Postgres at ${host}: ${why}: mend that server, then run this again`, {
        cause,
      });
    });
  say('Postgres: all roles');

  const ca = readFileSync(secrets.authority, 'utf8');
  const redis = [first, second].map((own) => ({ host: HOST, port: own.redis, ca }));
  const sentinels = ports.map(({ sentinel: port }) => ({ host: HOST, port, ca }));
  const own = { password: passwords.redis, before: passwords.before.redis };
  await settleRedis(redis, sentinels, own);
  say('Redis: servers and sentinels');

  const superuserUrl = (host: string): string =>
    postgresUrl(access.superuser, host, 'postgres', access.parameters);
  const lacking = async (): Promise<readonly string[]> => {
    const following = await Promise.all(
      hosts.map((host) =>
        withClient(superuserUrl(host), async (client) => {
          const { rowCount } = await client.query(
            "SELECT FROM pg_stat_replication WHERE state = 'streaming'",
          );
          return rowCount ?? 0;
        }),
      ),
    );
    const linked = await Promise.all(
      redis.map((place) => asDefault(place, own, (each) => each.info('replication'))),
    );
    return [
      ...(await outOfSync(kafka)),
      ...(following.some((count) => count > 0) ? [] : ['the replica of Postgres']),
      ...(linked.some((text) => text.includes('master_link_status:up'))
        ? []
        : ['the replica of Redis']),
    ];
  };
  let told_at = performance.now();
  for (;;) {
    // a server that is being started does not answer
    const missing = await lacking().catch((error: unknown) => [String(error)]);
    if (missing.length === 0) return say('all replicas are in sync');
    if (performance.now() - told_at > TOLD_MS) {
      told_at = performance.now();
      say(`not in sync: ${missing.join(', ')}`);
    }
    await pause(POLL_MS);
  }
}

/** Topics of which a replica is not in sync. */
async function outOfSync(kafka: Kafka): Promise<readonly string[]> {
  const admin = kafka.admin();
  await admin.connect();
  try {
    const { topics } = await admin.fetchTopicMetadata();
    return topics
      .filter(({ partitions }) =>
        partitions.some(({ isr, replicas }) => isr.length < replicas.length),
      )
      .map(({ name }) => name);
  } finally {
    await admin.disconnect();
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href)
  try {
    await settle(folderOf(process.env, true), (line) => void process.stdout.write(`${line}\n`));
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = error instanceof Refusal ? 1 : 2;
  }
