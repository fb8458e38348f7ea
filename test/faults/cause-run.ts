/**
 * One cause of an alert at a time is made and mended, while a real Prometheus and Alertmanager run.
 * Each cause must give its own page, or ticket, and no other page, and silence once it is mended.
 */
import { setTimeout as after } from 'node:timers/promises';
import type { Alertmanager } from '../support/alertmanager.ts';
import type { Prometheus } from '../support/prometheus.ts';
import { until } from '../support/until.ts';
import type { FaultReport } from './fault-run.ts';

const PERIOD_MS = 1_000;

export interface Cause {
  readonly cause: string;
  /** the alert that has to be told; a ticket in the end, where nobody is called for it */
  readonly page: string;
  /** may take a while; the fault is there when it resolves */
  readonly make: () => Promise<unknown>;
  readonly mend: () => Promise<unknown>;
}

/** `factor` divides the times of the rules, and the seconds `hold` for which a cause stays. */
export type Times = Readonly<Record<'factor' | 'hold', number>>;

interface Row {
  readonly cause: string;
  /** that Prometheus saw, without the page itself */
  readonly others: ReadonlySet<string>;
  readonly pages: ReadonlySet<string>;
  readonly seconds_to_page: number;
  readonly seconds_to_silence: number;
}

export class CauseRun {
  readonly #alertmanager: Alertmanager;
  readonly #prometheus: Prometheus;
  readonly #holdMs: number;
  readonly #progress: (line: string) => void;
  readonly violations: string[] = [];
  readonly rows: string[] = [];

  constructor(
    alertmanager: Alertmanager,
    prometheus: Prometheus,
    { factor, hold }: Times,
    progress: (line: string) => void,
  ) {
    this.#alertmanager = alertmanager;
    this.#prometheus = prometheus;
    this.#holdMs = (hold * 1_000) / factor;
    this.#progress = progress;
  }

  /** Each one after the other, from silence to silence. */
  async run(causes: readonly Cause[]): Promise<void> {
    await this.#quiet('the system to begin');
    for (const cause of causes) {
      const line = lineOf(await this.#happen(cause));
      this.rows.push(line);
      this.#progress(line);
    }
  }

  /** Resolves when no alert of a page fires any more. */
  async #quiet(what: string): Promise<void> {
    await until(
      async () => [...(await this.#prometheus.firing())],
      `${what}: no alert to fire`,
      (firing) => firing.length === 0,
    );
  }

  async #happen({ cause, page, make, mend }: Cause): Promise<Row> {
    this.#progress(cause);
    const { notifications } = this.#alertmanager;
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
      for (const alert of await this.#prometheus.firing()) if (alert !== page) others.add(alert);
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
    await this.#quiet(cause);
    const silent = since().at(-1)?.at ?? mended;
    const pages = new Set(
      since()
        .filter(({ status }) => status === 'firing')
        .map(({ alert }) => alert),
    );
    for (const alert of pages)
      if (alert !== page) this.violations.push(`${cause}: ${alert} was told besides ${page}`);
    return {
      cause,
      others,
      pages,
      seconds_to_page: Math.round((paged - begun) / 1_000),
      seconds_to_silence: Math.max(0, Math.round((silent - mended) / 1_000)),
    };
  }
}

function listOf(names: ReadonlySet<string>): string {
  return names.size === 0 ? '-' : [...names].toSorted().join(', ');
}

function lineOf(row: Row): string {
  const { cause, others, pages } = row;
  const seconds = [row.seconds_to_page, row.seconds_to_silence];
  return `| ${[cause, listOf(pages), listOf(others), ...seconds].join(' | ')} |`;
}

/** Where a program is missing. */
export function skipped(why: string): FaultReport {
  return { lines: [`skipped: ${why}`], violations: [] };
}

export function tableOf(rows: readonly string[]): readonly string[] {
  return [
    '| cause | told | fires besides, held back | s from the fault to the page | s from the repair to silence |',
    '|---|---|---|---|---|',
    ...rows,
  ];
}
