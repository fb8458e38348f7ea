/** The Prometheus metrics of one process. */
import {
  collectDefaultMetrics,
  Counter,
  Gauge,
  Histogram,
  Registry,
  type CollectFunction,
} from 'prom-client';

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Deprecated names, each with the metric that every scrape repeats under it. */
export const DEPRECATED_METRICS: Readonly<Record<string, string>> = {
  hub_kept_answers_used: 'hub_answer_cache_hits',
  hub_sockets_behind: 'hub_sockets_backpressured',
  hub_subscription_groups: 'hub_shared_subscriptions',
  redis_hints_total: 'redis_notifications_total',
  reserve_minting_closed: 'reserve_gate_closed',
  treasury_deposits_unminted: 'treasury_deposits_waiting',
  treasury_lost_races_total: 'treasury_races_lost_total',
  treasury_mints_live: 'treasury_mints_in_flight',
};

export class Metrics {
  readonly registry = new Registry();

  /** `of_process`: also those of the process itself, whose timers live as long as it. */
  constructor(service: string, { of_process = true } = {}) {
    this.registry.setDefaultLabels({ service });
    if (of_process) collectDefaultMetrics({ register: this.registry });
  }

  /** `collect` runs at each scrape, after all is counted from 0 again. */
  counter<Label extends string = never>(
    name: string,
    help: string,
    labels: readonly Label[] = [],
    collect?: (counter: Counter<Label>) => void,
  ): Counter<Label> {
    return new Counter({
      name,
      help,
      labelNames: [...labels],
      registers: [this.registry],
      ...(collect && {
        collect(this: Counter<Label>) {
          this.reset();
          collect(this);
        },
      }),
    });
  }

  /** `collect` runs at each scrape and may set the gauge. */
  gauge<Label extends string = never>(
    name: string,
    help: string,
    labels: readonly Label[] = [],
    collect?: CollectFunction<Gauge<Label>>,
  ): Gauge<Label> {
    return new Gauge({
      name,
      help,
      labelNames: [...labels],
      registers: [this.registry],
      ...(collect === undefined ? {} : { collect }),
    });
  }

  /** The default buckets are seconds. */
  histogram<Label extends string = never>(
    name: string,
    help: string,
    labels: readonly Label[] = [],
    buckets: readonly number[] = SECONDS,
  ): Histogram<Label> {
    return new Histogram({
      name,
      help,
      labelNames: [...labels],
      buckets: [...buckets],
      registers: [this.registry],
    });
  }

  /** The body of a scrape. */
  async text(): Promise<string> {
    const { registry } = this;
    const deprecated = Object.entries(DEPRECATED_METRICS)
      .filter(([, name]) => registry.getSingleMetric(name) !== undefined)
      .map(async ([before, name]) => {
        const text = (await registry.getSingleMetricAsString(name)).trimEnd();
        const renamed = text.replaceAll(name, before);
        return `\n${renamed.replace(/^# HELP .*/, `# HELP ${before} deprecated: use ${name}`)}\n`;
      });
    return [await registry.metrics(), ...(await Promise.all(deprecated))].join('');
  }

  get content_type(): string {
    return this.registry.contentType;
  }
}
