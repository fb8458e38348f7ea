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
  text(): Promise<string> {
    return this.registry.metrics();
  }

  get content_type(): string {
    return this.registry.contentType;
  }
}
