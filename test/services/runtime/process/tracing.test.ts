import { setImmediate as turn } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openHttp } from '../../../../services/runtime/http/server.ts';
import { openLog } from '../../../../services/runtime/process/log.ts';
import { Metrics } from '../../../../services/runtime/process/metrics.ts';
import { NO_SPAN, NO_TRACING, type Tracing } from '../../../../services/runtime/process/tracing.ts';
import { openTracing } from '../../../../services/runtime/process/open-tracing.ts';
import { Collector, type CollectedSpan } from '../../../support/collector.ts';

const lines: string[] = [];
let traceId = (): string | undefined => undefined;
const log = openLog({
  service: 'test',
  level: 'info',
  traceId: () => traceId(),
  destination: { write: (line) => void lines.push(line) },
});
const OTHER = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

let collector: Collector;

beforeAll(async () => {
  collector = await Collector.open();
});
afterAll(() => collector.close());

/** The exported spans of `work`. */
async function exported(
  work: (tracing: Tracing) => Promise<void> | void,
  settings: { readonly trace_every?: number; readonly otlp_url?: string } = {},
): Promise<readonly CollectedSpan[]> {
  const before = collector.spans.length;
  const tracing = await openTracing(
    'test',
    { otlp_url: collector.url, trace_every: 1, ...settings },
    log,
  );
  await work(tracing);
  await tracing.close();
  return collector.spans.slice(before);
}

test('without the address of a collector every function is the one that does nothing', async () => {
  const off = await openTracing('test', { otlp_url: undefined, trace_every: 1 }, log);
  expect(off).toBe(NO_TRACING);
  expect(off.begin('node')).toBe(NO_SPAN);
  expect(off.continued('fetch', [{ headers: { traceparent: OTHER } }])).toBe(NO_SPAN);
  expect(NO_SPAN.child('append')).toBe(NO_SPAN);
  expect(NO_SPAN.headers).toBeUndefined();
  expect(NO_SPAN.run(() => 3)).toBe(3);
});

test('the headers of a span, as text or as the bytes of a record, carry its trace on', async () => {
  const spans = await exported((tracing) => {
    const node = tracing.begin('node');
    node.set('clt.height', 7);
    node.end();
    const append = node.child('append');
    const { traceparent = '' } = append.headers ?? {};
    expect(traceparent).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
    expect(append.headers?.trace_id).toBe(traceparent.slice(3, 35));
    tracing.continued('fetch', [{ headers: { traceparent: Buffer.from(traceparent) } }]).end();
    tracing.continued('GET', [{ headers: { traceparent } }]).end();
    append.end();
  });
  const [node, fetch, get, append] = spans;
  expect(spans.map(({ name }) => name)).toEqual(['node', 'fetch', 'GET', 'append']);
  expect(new Set(spans.map((span) => span.trace_id)).size).toBe(1);
  expect(node).toMatchObject({ service: 'test', parent: '', attributes: { 'clt.height': 7 } });
  expect(append?.parent).toBe(node?.span_id);
  expect([fetch?.parent, get?.parent]).toEqual([append?.span_id, append?.span_id]);
});

test('a span of many records is in the trace of the last one, and linked once to each other trace', async () => {
  const spans = await exported((tracing) => {
    const traced = [1, 2, 3].map((at) => {
      const span = tracing.begin(`append ${at}`);
      span.end();
      return { headers: { ...span.headers } };
    });
    const [first, second, third] = traced;
    const none = { headers: {} };
    tracing
      .continued(
        'fetch',
        [none, first, first, second, third, third, none].flatMap((one) => one ?? []),
      )
      .end();
  });
  const [first, second, third, fetch] = spans;
  expect(fetch?.trace_id).toBe(third?.trace_id);
  expect(fetch?.links).toEqual([second?.trace_id, first?.trace_id]);
});

test.each([
  ['none', undefined],
  ['one that is not recorded', `${OTHER.slice(0, -2)}00`],
  ['a malformed one', 'no trace'],
  ['several', [OTHER, OTHER]],
])('%s is no trace to continue', async (_what, traceparent) => {
  const spans = await exported((tracing) => {
    expect(tracing.continued('GET', [{ headers: { traceparent } }])).toBe(NO_SPAN);
  });
  expect(spans).toEqual([]);
});

test('APP_TRACE_EVERY decides on traces that begin here, not on those that others record', async () => {
  const spans = await exported(
    (tracing) => {
      for (let at = 0; at < 50; at++) tracing.begin('node').end();
      tracing.continued('GET', [{ headers: { traceparent: OTHER } }]).end();
    },
    { trace_every: 1_000_000 },
  );
  expect(spans.map(({ name, parent }) => [name, parent])).toEqual([['GET', OTHER.slice(36, 52)]]);
});

test('a failed leg says why, without passwords', async () => {
  const spans = await exported((tracing) =>
    tracing.begin('fold').end(new Error('no answer of postgres://user:secret@host/db')),
  );
  expect(spans.map(({ error }) => error)).toEqual(['no answer of postgres://host/db']);
});

test('log lines of traced work name the trace, across what it awaits; others name none', async () => {
  lines.length = 0;
  let id: string | undefined;
  await exported(async (tracing) => {
    traceId = () => tracing.current.headers?.trace_id;
    const span = tracing.begin('fold');
    id = span.headers?.trace_id;
    await Promise.all([
      span.run(async () => {
        await turn();
        log.info('inside');
      }),
      turn().then(() => log.info('outside')),
    ]);
    span.end();
  });
  const logged = lines.map((line): unknown => JSON.parse(line));
  expect(logged).toHaveLength(2);
  expect(logged).toContainEqual(expect.objectContaining({ msg: 'inside', trace_id: id }));
  expect(logged).toContainEqual(expect.not.objectContaining({ trace_id: expect.anything() }));
});

test('a collector that is away is logged at the end, which waits a second for it at most', async () => {
  lines.length = 0;
  await exported((tracing) => tracing.begin('node').end(), { otlp_url: 'http://127.0.0.1:1' });
  const [line = '{}'] = lines;
  expect(JSON.parse(line)).toMatchObject({ level: 'warn' });
  expect(lines).toHaveLength(1);
});

test('a request with a trace is a span of it with route and status, which its handler can continue; one without begins none', async () => {
  const continued: (string | undefined)[] = [];
  const spans = await exported(async (tracing) => {
    const http = await openHttp(
      { http_host: '127.0.0.1', http_port: 0 },
      {
        log,
        metrics: new Metrics('test'),
        tracing,
        checks: [],
        routes: [
          {
            method: 'get',
            path: '/x/:id',
            handle: () => {
              continued.push(tracing.current.headers?.trace_id);
              return { status: 200, body: '{}' };
            },
          },
        ],
      },
    );
    await fetch(`${http.url}/x/1`);
    await fetch(`${http.url}/x/2`, { headers: { traceparent: OTHER } });
    await http.drain();
  });
  expect(continued).toEqual([undefined, OTHER.slice(3, 35)]);
  expect(spans).toMatchObject([
    {
      name: 'GET',
      trace_id: OTHER.slice(3, 35),
      parent: OTHER.slice(36, 52),
      attributes: { 'http.route': '/x/:id', 'http.response.status_code': 200 },
    },
  ]);
});
