/** Tracing as the settings say. OpenTelemetry is loaded only where traces are exported. */
import type { Logger } from './log.ts';
import { NO_TRACING, type Tracing } from './tracing.ts';

export interface TracingSettings {
  /** of a collector, without `/v1/traces`; undefined: nothing is traced */
  readonly otlp_url: string | undefined;
  /** traces of which one is recorded */
  readonly trace_every: number;
}

export async function openTracing(
  service: string,
  settings: TracingSettings,
  log: Logger,
): Promise<Tracing> {
  const { otlp_url: otlpUrl, trace_every: traceEvery } = settings;
  if (otlpUrl === undefined) return NO_TRACING;
  const { exportingTo } = await import('./opentelemetry.ts');
  return exportingTo(otlpUrl, { service, every: traceEvery, log });
}
