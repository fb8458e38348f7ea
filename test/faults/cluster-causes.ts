/** Causes of alerts that need a pair of servers, made and mended on a cluster by its commands. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { withClient } from '../../infra/postgres/databases.ts';
import { ops } from '../services/ops/operator.ts';
import { openAlertmanager } from '../support/alertmanager.ts';
import { startCommandCluster, type CommandCluster } from '../support/command-cluster.ts';
import { openPrometheus } from '../support/prometheus.ts';
import { CauseRun, skipped, tableOf, type Cause, type Times } from './cause-run.ts';
import { DEPOSIT_SERVICES } from './cluster-deposits.ts';
import type { FaultReport, Given } from './fault-run.ts';

/** Each has 16 MB; the alert is for more than 1 GB. */
const SEGMENTS = 70;
const SLOT = 'drill';

export async function onCluster(times: Times, { progress }: Given): Promise<FaultReport> {
  const alertmanager = await openAlertmanager(times.factor);
  if ('missing' in alertmanager) return skipped(alertmanager.missing);
  const cluster = await startCommandCluster([], DEPOSIT_SERVICES);
  try {
    const { services }: { readonly services: Readonly<Record<string, { readonly url: string }>> } =
      Object(cluster.file());
    const prometheus = await openPrometheus(
      { clt: Object.values(services).map(({ url }) => new URL(url).host) },
      { alertmanager_port: alertmanager.port, factor: times.factor, mountpoint: '' },
    );
    if ('missing' in prometheus) return skipped(prometheus.missing);
    try {
      const causes = new CauseRun(alertmanager, prometheus, times, progress);
      await causes.run(causesOf(cluster));
      return { lines: tableOf(causes.rows), violations: causes.violations };
    } finally {
      await prometheus.stop();
    }
  } finally {
    await alertmanager.stop();
    await cluster.stop();
  }
}

function causesOf(cluster: CommandCluster): readonly Cause[] {
  const command = async (...words: readonly string[]): Promise<void> => {
    const { code, stderr } = await ops('--stack', cluster.folder.stack_file, ...words);
    if (code !== 0) throw new Error(stderr);
  };
  const stopped = (part: string): Pick<Cause, 'make' | 'mend'> => ({
    make: () => command('stop', part),
    mend: () => command('start', part),
  });
  const signal = (name: 'SIGSTOP' | 'SIGCONT', part: string): Promise<unknown> => {
    const file = join(cluster.folder.pids, `${part}.json`);
    const { pid }: { readonly pid: number } = JSON.parse(readFileSync(file, 'utf8'));
    return Promise.resolve(process.kill(pid, name));
  };
  const sql = (server: 'postgres-1' | 'postgres-2', statement: string): Promise<unknown> =>
    withClient(cluster.superuserUrl(server), (client) => client.query(statement));
  return [
    { cause: 'one of three brokers is stopped', page: 'BrokerAway', ...stopped('kafka-3') },
    {
      cause: 'one of three brokers is frozen',
      page: 'BrokerAway',
      make: () => signal('SIGSTOP', 'kafka-2'),
      mend: () => signal('SIGCONT', 'kafka-2'),
    },
    {
      cause: 'the replica of Postgres is stopped',
      page: 'ReplicationBehind',
      ...stopped('postgres-2'),
    },
    {
      cause: 'the replica of Postgres applies nothing',
      page: 'ReplicationBehind',
      make: () => sql('postgres-2', 'SELECT pg_wal_replay_pause()'),
      mend: () => sql('postgres-2', 'SELECT pg_wal_replay_resume()'),
    },
    { cause: 'the primary of Postgres is stopped', page: 'PostgresAway', ...stopped('postgres-1') },
    {
      cause: 'nobody reads from a replication slot',
      page: 'SlotGrows',
      make: async () => {
        await sql('postgres-1', `SELECT pg_create_physical_replication_slot('${SLOT}', true)`);
        for (let at = 0; at < SEGMENTS; at++)
          await sql(
            'postgres-1',
            `SELECT pg_logical_emit_message(false, 'drill', ''), pg_switch_wal()`,
          );
      },
      mend: () => sql('postgres-1', `SELECT pg_drop_replication_slot('${SLOT}')`),
    },
  ];
}
