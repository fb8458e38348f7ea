import { expect, test } from 'vitest';
import { readProjectorConfig } from '../../../services/projector/config.ts';

const GOOD = {
  APP_HTTP_PORT: '17021',
  APP_KAFKA_BROKERS: '127.0.0.1:19092',
  APP_REGISTRY_URL: 'http://127.0.0.1:18081/apis/ccompat/v7',
  APP_POSTGRES_URL: 'postgres://clt_writer:clt_writer@127.0.0.1:15432/clt',
  APP_REDIS_URL: 'redis://127.0.0.1:16379',
};

test('the settings of the stack are complete', () => {
  expect(readProjectorConfig(GOOD)).toMatchObject({
    http_port: 17_021,
    http_host: '127.0.0.1',
    drain_ms: 10_000,
    kafka_brokers: ['127.0.0.1:19092'],
    registry_url: 'http://127.0.0.1:18081/apis/ccompat/v7',
    postgres_url: GOOD.APP_POSTGRES_URL,
    redis_url: GOOD.APP_REDIS_URL,
  });
});

test('all missing settings are reported at once', () => {
  expect(() => readProjectorConfig({})).toThrow(
    expect.objectContaining({
      problems: Object.keys(GOOD).map((name) => expect.stringContaining(name)),
    }),
  );
});
