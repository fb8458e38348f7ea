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
import { setTimeout as after } from 'node:timers/promises';
import { services } from '../../infra/services/services.ts';
import { CHAIN_BLOCKS } from '../../schemas/topics.ts';
import { KafkaWriter } from '../../services/runtime/kafka/writer.ts';
import { openAlertmanager, runProgram, type Alertmanager } from '../support/alertmanager.ts';
import { takePort } from '../support/free-ports.ts';
import { never, silentLog } from '../support/kafka.ts';
import { openPrometheus, type Prometheus } from '../support/prometheus.ts';
import { systemProgram } from '../support/system-program.ts';
import { until } from '../support/until.ts';
import type { FaultReport, FaultRun } from './fault-run.ts';
import { runOps } from './ops-run.ts';
import { onStack, type StackPlace, type System } from './system.ts';

const PERIOD_MS = 1_000;
const DAY_S = 86_400;

/** A disk of its own, and the port of the node_exporter that measures it and reads its jobs. */
interface SmallDisk {
  /** where jobs write their figures too */
  readonly folder: string;
  readonly port: number;
  stop(): Promise<void>;
}

interface Cause {
  readonly cause: string;
  /** the alert that has to be told; a ticket in the end, where nobody is called for it */
  readonly page: string;
  /** may take a while; the fault is there when it resolves */
  readonly make: () => Promise<unknown>;
  readonly mend: () => Promise<unknown>;
}

interface Row {
  readonly cause: string;
  /** that Prometheus saw, without the page itself */
  readonly others: ReadonlySet<string>;
  readonly pages: ReadonlySet<string>;
  readonly seconds_to_page: number;
  readonly seconds_to_silence: number;
}

export const alerts: FaultRun<'factor' | 'hold'> = {
  about:
    'makes each cause of an alert on a stack with a real Prometheus and Alertmanager, and mends it;\n' +
    'each must give its own page or ticket, no other page, and silence after that; the times of the rules are divided',
  options: {
    factor: { about: 'the times of rules and notifications are divided by it', default: 4 },
    hold: { about: 'seconds of the rules that a cause stays, before the division', default: 200 },
  },
  run: (options, given) => {
    const { factor } = options;
    const silence = String(Math.round(60_000 / factor));
    const settings = { 'tron-watcher': { APP_READY_SILENCE_MS: silence } };
    return onStack(settings, given, (system) => new AlertsRun(system, options).run());
  },
};

class AlertsRun {
  readonly #system: System<StackPlace>;
  readonly #factor: number;
  readonly #holdMs: number;
  readonly #violations: string[] = [];

  constructor(
    system: System<StackPlace>,
    { factor, hold }: Readonly<Record<'factor' | 'hold', number>>,
  ) {
    this.#system = system;
    this.#factor = factor;
    this.#holdMs = (hold * 1_000) / factor;
  }

  async run(): Promise<FaultReport> {
    const alertmanager = await openAlertmanager(this.#factor);
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
        factor: this.#factor,
        mountpoint: 'missing' in disk ? '' : disk.folder,
      },
    );
    try {
      if ('missing' in prometheus) return skipped(prometheus.missing);
      await this.#quiet(prometheus, 'the system to begin');
      const rows: Row[] = [];
      for (const cause of this.#causes('missing' in disk ? undefined : disk)) {
        const row = await this.#happen(cause, alertmanager, prometheus);
        rows.push(row);
        this.#system.progress(lineOf(row));
      }
      return {
        lines: [
          ...('missing' in disk ? [`a full disk was left out: ${disk.missing}`] : []),
          ...tableOf(rows),
        ],
        violations: this.#violations,
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

  /** Resolves when no alert of a page fires any more. */
  async #quiet(prometheus: Prometheus, what: string): Promise<void> {
    await until(
      async () => [...(await prometheus.firing())],
      `${what}: no alert to fire`,
      (firing) => firing.length === 0,
    );
  }

  async #happen(
    { cause, page, make, mend }: Cause,
    { notifications }: Alertmanager,
    prometheus: Prometheus,
  ): Promise<Row> {
    this.#system.progress(cause);
    const before = notifications.length;
    const since = (): Alertmanager['notifications'] =>
      notifications
        .slice(before)
        .filter(({ receiver, alert }) => receiver === 'duty' || alert === page);
    const lastOf = (status: string) =>
      since().findLast((each) => each.alert === page && each.status === status)?.at;
    const others = new Set<string>();
    const begun = performance.now();
    await make();
    const made = performance.now();
    // consequences have their times too: the cause stays until each could have been told
    // no limit: a longer time shows more of them
    while (performance.now() - made < this.#holdMs) {
      for (const alert of await prometheus.firing()) if (alert !== page) others.add(alert);
      await after(PERIOD_MS);
    }
    await until(
      () => lastOf('firing'),
      `${page} to be told`,
      (at) => at !== undefined,
    );
    const paged = since().find(({ alert }) => alert === page)?.at ?? made;
    const mending = performance.now();
    await mend();
    const mended = performance.now();
    await until(
      () => lastOf('resolved'),
      `${page} to be over`,
      // no limit: it is told again where it ended for a moment
      (at) => at !== undefined && at > mending,
    );
    await this.#quiet(prometheus, cause);
    const silent = since().at(-1)?.at ?? mended;
    const pages = new Set(
      since()
        .filter(({ status }) => status === 'firing')
        .map(({ alert }) => alert),
    );
    for (const alert of pages)
      if (alert !== page) this.#violations.push(`${cause}: ${alert} was told besides ${page}`);
    return {
      cause,
      others,
      pages,
      seconds_to_page: Math.round((paged - begun) / 1_000),
      seconds_to_silence: Math.max(0, Math.round((silent - mended) / 1_000)),
    };
  }
}

function skipped(why: string): FaultReport {
  return { lines: [`skipped: ${why}`], violations: [] };
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
      mend: async () => {
        const words = ['audit', '--metrics', fileOf('audit')];
        const { code, stderr } = await runOps(addresses, words, operator);
        if (code !== 0) throw new Error(stderr);
      },
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

function listOf(names: ReadonlySet<string>): string {
  return names.size === 0 ? '-' : [...names].toSorted().join(', ');
}

function lineOf(row: Row): string {
  const { cause, others, pages } = row;
  const seconds = [row.seconds_to_page, row.seconds_to_silence];
  return `| ${[cause, listOf(pages), listOf(others), ...seconds].join(' | ')} |`;
}

function tableOf(rows: readonly Row[]): readonly string[] {
  return [
    '| cause | told | fires besides, held back | s from the fault to the page | s from the repair to silence |',
    '|---|---|---|---|---|',
    ...rows.map(lineOf),
  ];
}
