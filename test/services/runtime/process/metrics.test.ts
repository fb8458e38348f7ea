import { expect, test } from 'vitest';
import { Metrics } from '../../../../services/runtime/process/metrics.ts';

test('each process counts for itself, under its service name', async () => {
  const [one, other] = [new Metrics('one'), new Metrics('other')];
  one.counter('events_total', 'Events', ['outcome']).inc({ outcome: 'applied' }, 3);
  other.counter('events_total', 'Events', ['outcome']).inc({ outcome: 'applied' }, 4);
  expect(await one.text()).toContain('events_total{outcome="applied",service="one"} 3');
  expect(await other.text()).toContain('events_total{outcome="applied",service="other"} 4');
  expect(await one.text()).toContain('process_cpu_seconds_total');
  expect(one.content_type).toContain('text/plain');
});

test('a gauge may be read at the scrape, a histogram is in seconds', async () => {
  const metrics = new Metrics('one');
  let lag = 5;
  metrics.gauge('lag', 'Lag', [], function collect() {
    this.set(lag);
  });
  metrics.histogram('batch_seconds', 'Batches', ['kind']).observe({ kind: 'live' }, 0.003);
  expect(await metrics.text()).toContain('lag{service="one"} 5');
  lag = 6;
  const text = await metrics.text();
  expect(text).toContain('lag{service="one"} 6');
  expect(text).toContain('batch_seconds_bucket{le="0.005",service="one",kind="live"} 1');
  expect(text).toContain('batch_seconds_bucket{le="0.0025",service="one",kind="live"} 0');
});

test('a renamed metric is repeated under its deprecated name, which says so', async () => {
  const metrics = new Metrics('one', { of_process: false });
  metrics.counter('redis_notifications_total', 'Notifications', ['outcome']).inc({ outcome: 'x' });
  expect(await metrics.text()).toBe(`# HELP redis_notifications_total Notifications
# TYPE redis_notifications_total counter
redis_notifications_total{outcome="x",service="one"} 1

# HELP redis_hints_total deprecated: use redis_notifications_total
# TYPE redis_hints_total counter
redis_hints_total{outcome="x",service="one"} 1
`);
});
