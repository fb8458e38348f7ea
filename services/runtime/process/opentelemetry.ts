/** Tracing by OpenTelemetry, exported as OTLP in JSON over HTTP. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as after } from 'node:timers/promises';
import * as api from '@opentelemetry/api';
import { ExportResultCode, parseTraceParent } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
  type SpanExporter,
} from '@opentelemetry/sdk-trace';
import { messageOf } from './errors.ts';
import { withoutCredentials, type Logger } from './log.ts';
import {
  LINKS_MAX,
  NO_SPAN,
  type Span,
  type TraceHeaders,
  type Traced,
  type Tracing,
} from './tracing.ts';

const EXPORT_EVERY_MS = 1_000;
const CLOSE_MS = 1_000;

interface Recording {
  readonly tracer: api.Tracer;
  readonly current: AsyncLocalStorage<RecordedSpan>;
}

export function exportingTo(
  url: string,
  {
    service,
    every,
    log,
  }: { readonly service: string; readonly every: number; readonly log: Logger },
): Tracing {
  const exporter = reporting(new OTLPTraceExporter({ url: `${url}/v1/traces` }), log);
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': service }),
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(1 / every) }),
    spanProcessors: [new BatchSpanProcessor({ exporter, scheduledDelayMillis: EXPORT_EVERY_MS })],
  });
  const tracer = provider.getTracer('clt');
  const current = new AsyncLocalStorage<RecordedSpan>();
  const recording = { tracer, current };
  return {
    get current() {
      return current.getStore() ?? NO_SPAN;
    },
    begin: (name, startTime = Date.now()) =>
      recorded(recording, tracer.startSpan(name, { startTime }, api.ROOT_CONTEXT)),
    continued(name, from, startTime = Date.now()) {
      const [parent, ...others] = tracesOf(from);
      if (parent === undefined) return NO_SPAN;
      const links = others.map((context) => ({ context }));
      return recorded(recording, tracer.startSpan(name, { startTime, links }, below(parent)));
    },
    async close() {
      const closed = provider.shutdown().then(() => true);
      const late = after(CLOSE_MS, false, { ref: false });
      if (!(await Promise.race([closed, late]).catch(() => false)))
        log.warn('the last spans were not exported: look at APP_OTLP_URL');
    },
  };
}

class RecordedSpan implements Span {
  readonly headers: TraceHeaders;
  readonly #recording: Recording;
  readonly #span: api.Span;

  constructor(recording: Recording, span: api.Span) {
    const { traceId, spanId } = span.spanContext();
    this.headers = { traceparent: `00-${traceId}-${spanId}-01`, trace_id: traceId };
    this.#recording = recording;
    this.#span = span;
  }

  child(name: string, startTime = Date.now()): Span {
    const parent = below(this.#span.spanContext());
    return recorded(this.#recording, this.#recording.tracer.startSpan(name, { startTime }, parent));
  }

  run<Result>(work: () => Result): Result {
    return this.#recording.current.run(this, work);
  }

  set(name: string, value: number | string): void {
    this.#span.setAttribute(name, value);
  }

  end(error?: unknown): void {
    if (error !== undefined) {
      const message = withoutCredentials(messageOf(error));
      this.#span.setStatus({ code: api.SpanStatusCode.ERROR, message });
    }
    this.#span.end();
  }
}

function recorded(recording: Recording, span: api.Span): Span {
  return span.isRecording() ? new RecordedSpan(recording, span) : NO_SPAN;
}

function below(parent: api.SpanContext): api.Context {
  return api.trace.setSpanContext(api.ROOT_CONTEXT, { ...parent, isRemote: true });
}

/** The recorded traces that these name, each once, the last one first. */
function tracesOf(from: readonly Traced[]): readonly api.SpanContext[] {
  const traces = new Map<string, api.SpanContext>();
  for (let at = from.length - 1; at >= 0 && traces.size <= LINKS_MAX; at--) {
    const header = from[at]?.headers['traceparent'];
    if (typeof header !== 'string' && !Buffer.isBuffer(header)) continue;
    const context = parseTraceParent(header.toString());
    if (context === null || (context.traceFlags & api.TraceFlags.SAMPLED) === 0) continue;
    if (!traces.has(context.traceId)) traces.set(context.traceId, context);
  }
  return [...traces.values()];
}

/** Logs when exports begin to fail, and when they succeed again. */
function reporting(exporter: SpanExporter, log: Logger): SpanExporter {
  let isAway = false;
  return {
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        const fails = result.code !== ExportResultCode.SUCCESS;
        if (fails && !isAway)
          log.warn({ err: result.error }, 'spans are not exported: look at APP_OTLP_URL');
        else if (!fails && isAway) log.info('spans are exported again');
        isAway = fails;
        done({ code: ExportResultCode.SUCCESS });
      }),
    shutdown: () => exporter.shutdown(),
  };
}
