/**
 * The run of the alerts: each cause that can be made on one machine is made and mended again, while
 * a real Prometheus scrapes every service and a real Alertmanager calls a receiver. Each cause must
 * give its own page, or ticket, and no other page, and silence once it is mended.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { services } from '../../infra/services/services.ts';
import { CHAIN_BLOCKS } from '../../schemas/topics.ts';
import { KafkaWriter } from '../../services/runtime/kafka/writer.ts';
import { metricsText } from '../../services/ops/audit/audit.ts';
import { openAlertmanager, runProgram } from '../support/alertmanager.ts';
import { takePort } from '../support/free-ports.ts';
import { never, silentLog } from '../support/kafka.ts';
import { openPrometheus } from '../support/prometheus.ts';
import { systemProgram } from '../support/system-program.ts';
import { CauseRun, skipped, tableOf, type Cause, type Times } from './cause-run.ts';
import { onCluster } from './cluster-causes.ts';
import type { FaultReport, FaultRun } from './fault-run.ts';
import { runOps } from './ops-run.ts';
import { onStack, type StackPlace, type System } from './system.ts';

const DAY_S = 86_400;

/** A disk of its own, and the port of the node_exporter that measures it and reads its jobs. */
interface SmallDisk {
  /** where jobs write their figures too */
  readonly folder: string;
  readonly port: number;
  stop(): Promise<void>;
}

export const alerts: FaultRun<'factor' | 'hold'> = {
  about:
    'makes each cause of an alert on a stack, and those that need a pair on a cluster, with a real Prometheus and Alertmanager, and mends it;\n' +
    'each must give its own page or ticket, no other page, and silence after that; the times of the rules are divided',
  options: {
    factor: { about: 'the times of rules and notifications are divided by it', default: 4 },
    hold: { about: 'seconds of the rules that a cause stays, before the division', default: 200 },
  },
  run: async (options, given) => {
    const { factor } = options;
    const silence = String(Math.round(60_000 / factor));
    const settings = { 'tron-watcher': { APP_READY_SILENCE_MS: silence } };
    const one = await onStack(settings, given, (system) => new AlertsRun(system, options).run());
    const pairs = await onCluster(options, given);
    return {
      lines: [...one.lines, ...pairs.lines],
      violations: [...one.violations, ...pairs.violations],
    };
  },
};

class AlertsRun {
  readonly #system: System<StackPlace>;
  readonly #times: Times;

  constructor(system: System<StackPlace>, times: Times) {
    this.#system = system;
    this.#times = times;
  }

  async run(): Promise<FaultReport> {
    const alertmanager = await openAlertmanager(this.#times.factor);
    if ('missing' in alertmanager) return skipped(alertmanager.missing);
    const slots = services.map(({ name }) => name);
    await this.#system.start(slots);
    await this.#system.ready(slots);
    const disk = await openSmallDisk();
    const { ports } = this.#system.place.stack;
    const prometheus = await openPrometheus(
      {
        clt: slots.map((slot) => new URL(this.#system.processes.at(slot).ops_url).host),
        registry: [`127.0.0.1:${ports.registry}`],
        machine: 'missing' in disk ? [] : [`127.0.0.1:${disk.port}`],
      },
      {
        alertmanager_port: alertmanager.port,
        factor: this.#times.factor,
        mountpoint: 'missing' in disk ? '' : disk.folder,
      },
    );
    try {
      if ('missing' in prometheus) return skipped(prometheus.missing);
      const causes = new CauseRun(alertmanager, prometheus, this.#times, this.#system.progress);
      await causes.run(this.#causes('missing' in disk ? undefined : disk));
      return {
        lines: [
          ...('missing' in disk ? [`a full disk was left out: ${disk.missing}`] : []),
          ...tableOf(causes.rows),
        ],
        violations: causes.violations,
      };
    } finally {
      for (const each of [prometheus, alertmanager, disk])
        if (!('missing' in each)) await each.stop();
    }
  }

  #causes(disk: SmallDisk | undefined): readonly Cause[] {
    const { servers } = this.#system.place.stack;
    const { kafka, postgres, redis, registry } = servers;
    const freeze = (server: typeof redis) => ({
      make: () => server.kill('SIGSTOP'),
      mend: () => server.kill('SIGCONT'),
    });
    const refusing = (target: 'node' | 'tron') => ({
      make: () => this.#system.admin('/faults', { target, mode: 'status_503' }),
      mend: () => this.#system.admin('/faults', undefined, 'DELETE'),
    });
    return [
      { cause: 'Kafka is frozen', page: 'KafkaAway', ...freeze(kafka) },
      {
        cause: 'Kafka is stopped',
        page: 'KafkaAway',
        make: () => kafka.stop(),
        mend: () => kafka.start(),
      },
      {
        cause: 'Postgres is stopped',
        page: 'PostgresAway',
        make: () => postgres.stop(),
        mend: () => postgres.start(),
      },
      { cause: 'Redis is frozen', page: 'RedisAway', ...freeze(redis) },
      { cause: 'the registry is frozen', page: 'RegistryAway', ...freeze(registry) },
      { cause: 'the node answers 503', page: 'NodeAway', ...refusing('node') },
      { cause: "TRON's provider answers 503", page: 'ProviderAway', ...refusing('tron') },
      ...(disk === undefined ? [] : [fullDisk(disk), ...oldJobs(disk, this.#system.place)]),
      { cause: 'a record that nobody can apply', page: 'ServiceHalted', ...this.#poison() },
    ];
  }

  /** A record of no schema in chain.blocks, and the decision of an operator to skip it. */
  #poison(): Pick<Cause, 'make' | 'mend'> {
    const { addresses, kafka, operator } = this.#system.place;
    let offset = -1n;
    return {
      make: async () => {
        const writer = new KafkaWriter(kafka, { log: silentLog(), signal: never });
        const value = Buffer.from('00deadbeef', 'hex');
        const entry = { key: 'stranger', value, headers: {}, timestamp: Date.now() };
        offset = await writer.append(CHAIN_BLOCKS.name, 0, [entry]);
        await writer.close();
      },
      mend: async () => {
        const record = `${CHAIN_BLOCKS.name}/0@${offset}`;
        const words = ['quarantine', 'skip', record, '--actor', 'anna', '--reason', 'a stranger'];
        const { code, stderr } = await runOps(addresses, words, operator);
        if (code !== 0) throw new Error(stderr);
      },
    };
  }
}

function fullDisk({ folder }: SmallDisk): Cause {
  const ballast = join(folder, 'ballast');
  return {
    cause: 'a disk is full',
    page: 'DiskFull',
    make: async () => {
      const { bavail, bsize } = statfsSync(folder);
      writeFileSync(ballast, Buffer.alloc(bavail * bsize));
    },
    mend: async () => rmSync(ballast),
  };
}

/** A job that ended well three days ago, and then again; the audit is one by its command. */
function oldJobs({ folder }: SmallDisk, { addresses, operator }: StackPlace): readonly Cause[] {
  const fileOf = (job: string): string => join(folder, `${job}.prom`);
  const finished = async (job: string, days_ago: number): Promise<void> => {
    const seconds = Math.floor(Date.now() / 1_000) - days_ago * DAY_S;
    await writeFile(fileOf(job), `${job}_finished_timestamp_seconds ${seconds}\n`);
  };
  const audited = async (): Promise<void> => {
    const words = ['audit', '--metrics', fileOf('audit')];
    const { code, stderr } = await runOps(addresses, words, operator);
    if (code !== 0) throw new Error(stderr);
  };
  return [
    {
      cause: 'the newest backup is three days old',
      page: 'BackupOld',
      make: () => finished('backup', 3),
      mend: () => finished('backup', 0),
    },
    {
      cause: 'the newest audit is three days old',
      page: 'AuditOld',
      make: () => finished('audit', 3),
      mend: audited,
    },
    {
      cause: 'a certificate ends in a week',
      page: 'CertificateExpires',
      make: () => {
        const now = Math.floor(Date.now() / 1_000);
        const text = metricsText(0, [{ of: 'kafka-1:9092', days_left: 7 }], now);
        return writeFile(fileOf('audit'), text);
      },
      mend: audited,
    },
  ];
}

/** The result may say why there is none. */
async function openSmallDisk(): Promise<SmallDisk | { readonly missing: string }> {
  const program = await systemProgram(
    ['node_exporter', 'prometheus-node-exporter'],
    'prometheus-node-exporter',
  );
  if (program === undefined)
    return { missing: 'there is no node_exporter: install the package prometheus-node-exporter' };
  const folder = mkdtempSync(join(tmpdir(), 'clt-test-disk-'));
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=8m', 'tmpfs', folder]);
  if (status !== 0) {
    rmSync(folder, { recursive: true });
    return { missing: 'this user may not mount a file system' };
  }
  const { port, release } = await takePort();
  const args = [
    '--collector.disable-defaults',
    '--collector.filesystem',
    '--collector.textfile',
    `--collector.textfile.directory=${folder}`,
    `--web.listen-address=127.0.0.1:${port}`,
  ];
  const running = await runProgram(program, args, `http://127.0.0.1:${port}/metrics`);
  return {
    folder,
    port,
    async stop() {
      await running.stop();
      spawnSync('umount', ['-l', folder]);
      rmSync(folder, { recursive: true });
      release();
    },
  };
}
