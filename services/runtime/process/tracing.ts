/**
 * Tracing (OPS-15): spans of the way of a block or a deposit through the services, and the trace
 * that records, notifications and requests carry as W3C `traceparent`. Without APP_OTLP_URL every
 * function here does nothing, and `open-tracing.ts` does not load OpenTelemetry.
 * Source of the header: https://www.w3.org/TR/trace-context/#traceparent-header
 */
/** of one span; a batch of a projector that was away has thousands of traces */
export const LINKS_MAX = 32;

/** A leg of the way. One that is not traced is `NO_SPAN`, and so are its children. */
export interface Span {
  /** headers of what continues the trace; undefined: not traced */
  readonly headers: TraceHeaders | undefined;
  /** A span below this one, which may have ended. `started_at`: Unix ms, now when not given. */
  child(name: string, started_at?: number): Span;
  /** Runs work whose log lines name the trace. */
  run<Result>(work: () => Result): Result;
  set(name: string, value: number | string): void;
  /** `error`: why the leg failed. */
  end(error?: unknown): void;
}

export interface TraceHeaders {
  readonly traceparent: string;
  /** of the same trace, 32 hex digits */
  readonly trace_id: string;
}

/** A record, a request or a notification. */
export interface Traced {
  readonly headers: Readonly<Record<string, unknown>>;
}

export interface Tracing {
  /** the span whose work calls; `NO_SPAN`: none */
  readonly current: Span;
  /** The first span of a new trace, unless that is not among the recorded ones. */
  begin(name: string, started_at?: number): Span;
  /**
   * A span in the trace of the last one of these that names a trace, with links to the others, to
   * `LINKS_MAX` at most.
   * Traces that are not recorded, and headers that are malformed, do not count.
   */
  continued(name: string, from: readonly Traced[], started_at?: number): Span;
  /** Exports what is left, for a second at most. */
  close(): Promise<void>;
}

export const NO_SPAN: Span = {
  headers: undefined,
  child: () => NO_SPAN,
  run: (work) => work(),
  set: () => undefined,
  end: () => undefined,
};

export const NO_TRACING: Tracing = {
  current: NO_SPAN,
  begin: () => NO_SPAN,
  continued: () => NO_SPAN,
  close: () => Promise.resolve(),
};
