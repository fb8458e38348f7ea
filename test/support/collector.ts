/** A collector of traces: takes OTLP in JSON over HTTP, on a port of 127.0.0.1. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';

export interface CollectedSpan {
  readonly service: string;
  readonly name: string;
  readonly trace_id: string;
  readonly span_id: string;
  /** empty: the first span of its trace */
  readonly parent: string;
  /** trace ids */
  readonly links: readonly string[];
  readonly attributes: Readonly<Record<string, unknown>>;
  /** why it failed; undefined when it has not */
  readonly error: string | undefined;
  /** ms since 1970 */
  readonly begun_at: number;
  readonly ended_at: number;
}

interface Attribute {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}

/** As far as it is read. Source: opentelemetry-proto, `trace/v1/trace.proto`. */
interface Exported {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] };
    readonly scopeSpans: readonly {
      readonly spans: readonly {
        readonly name: string;
        readonly traceId: string;
        readonly spanId: string;
        readonly parentSpanId?: string;
        /** nanoseconds since 1970 */
        readonly startTimeUnixNano: string;
        readonly endTimeUnixNano: string;
        readonly links?: readonly { readonly traceId: string }[];
        readonly attributes?: readonly Attribute[];
        readonly status?: { readonly message?: string };
      }[];
    }[];
  }[];
}

export class Collector {
  readonly url: string;
  readonly spans: CollectedSpan[] = [];
  readonly #server: Server;

  private constructor(server: Server) {
    const address = server.address();
    if (typeof address !== 'object' || address === null) throw new Error('no port to listen on');
    this.url = `http://127.0.0.1:${address.port}`;
    this.#server = server;
  }

  static async open(): Promise<Collector> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const collector = new Collector(server);
    server.on('request', (request, response) => void collector.#serve(request, response));
    return collector;
  }

  /** The spans of one trace, by name and service. */
  trace(trace_id: string): readonly CollectedSpan[] {
    return this.spans.filter((span) => span.trace_id === trace_id);
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const exported: Exported = JSON.parse(await text(request));
    if (request.url === '/v1/traces') this.#take(exported);
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  }

  #take({ resourceSpans }: Exported): void {
    for (const { resource, scopeSpans } of resourceSpans)
      for (const span of scopeSpans.flatMap(({ spans }) => spans))
        this.spans.push({
          service: String(valuesOf(resource.attributes)['service.name']),
          name: span.name,
          trace_id: span.traceId,
          span_id: span.spanId,
          parent: span.parentSpanId ?? '',
          links: span.links?.map(({ traceId }) => traceId) ?? [],
          attributes: valuesOf(span.attributes ?? []),
          error: span.status?.message,
          begun_at: milliseconds(span.startTimeUnixNano),
          ended_at: milliseconds(span.endTimeUnixNano),
        });
  }
}

/** With all digits that a number has room for. */
function milliseconds(nanoseconds: string): number {
  return Number(BigInt(nanoseconds) / 1_000n) / 1_000;
}

function valuesOf(attributes: readonly Attribute[]): Readonly<Record<string, unknown>> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}
