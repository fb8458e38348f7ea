/** A Prometheus with the rules of `infra/prometheus/alerts.yml`, which calls an Alertmanager. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { faster, runProgram } from './alertmanager.ts';
import { takePort } from './free-ports.ts';
import { systemProgram } from './system-program.ts';

const RULES = new URL('../../infra/prometheus/alerts.yml', import.meta.url);

export interface Prometheus {
  /** the alerts that fire now, those that are held back too */
  firing(): Promise<ReadonlySet<string>>;
  stop(): Promise<void>;
}

/** The rules with their times divided; ages in seconds that they compare with stay. */
export function fasterRules(rules: string, factor: number): string {
  return rules
    .replaceAll(
      /^( +(?:for|keep_firing_for): )([0-9]+[smhd])$/gm,
      (_, key: string, time: string) => `${key}${faster(time, factor)}`,
    )
    .replaceAll(
      /(\[|\boffset )([0-9]+[smhd])/g,
      // a shorter window has less than two samples
      (_, before: string, time: string) =>
        `${before}${Number.parseInt(faster(time, factor), 10) + 8}s`,
    );
}

interface PrometheusOptions {
  readonly alertmanager_port: number;
  /** how much shorter the times of the rules are */
  readonly factor: number;
  /** the only disk that counts */
  readonly mountpoint: string;
}

/** `jobs`: host:port of each target; the result may say why there is none. */
export async function openPrometheus(
  jobs: Readonly<Record<string, readonly string[]>>,
  { alertmanager_port, factor, mountpoint }: PrometheusOptions,
): Promise<Prometheus | { readonly missing: string }> {
  const program = await systemProgram(['prometheus'], 'prometheus');
  if (program === undefined)
    return { missing: 'there is no Prometheus on this machine: install the package prometheus' };
  const folder = mkdtempSync(join(tmpdir(), 'prometheus-'));
  writeFileSync(join(folder, 'alerts.yml'), fasterRules(readFileSync(RULES, 'utf8'), factor));
  const config = {
    global: { evaluation_interval: '1s' },
    rule_files: ['alerts.yml'],
    alerting: {
      alertmanagers: [{ static_configs: [{ targets: [`127.0.0.1:${alertmanager_port}`] }] }],
    },
    scrape_configs: Object.entries(jobs).map(([job_name, targets]) => ({
      job_name,
      // no limit: a service looks for two seconds at servers that do not answer
      scrape_timeout: '4s',
      scrape_interval: '4s',
      static_configs: [{ targets }],
      metric_relabel_configs: [
        { source_labels: ['mountpoint'], regex: `(${mountpoint})?`, action: 'keep' },
      ],
    })),
  };
  const file = join(folder, 'prometheus.yml');
  writeFileSync(file, stringify(config));
  const { port, release } = await takePort();
  const url = `http://127.0.0.1:${port}`;
  const args = [
    `--config.file=${file}`,
    `--storage.tsdb.path=${join(folder, 'data')}`,
    `--web.listen-address=127.0.0.1:${port}`,
  ];
  const running = await runProgram(program, args, `${url}/-/ready`);
  return {
    async firing() {
      const answer: {
        readonly data: {
          readonly alerts: readonly {
            readonly state: string;
            readonly labels: { readonly alertname: string };
          }[];
        };
      } = Object(await (await fetch(`${url}/api/v1/alerts`)).json());
      const firing = answer.data.alerts.filter(({ state }) => state === 'firing');
      return new Set(firing.map(({ labels }) => labels.alertname));
    },
    async stop() {
      await running.stop();
      release();
      rmSync(folder, { recursive: true });
    },
  };
}
