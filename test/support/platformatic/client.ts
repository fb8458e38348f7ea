/**
 * `@platformatic/kafka` behind the port, for the fault tests of writers and readers
 * (docs/decisions/dependencies.md). Without TLS, accounts and near replicas.
 */
import type { Base, BaseOptions } from '@platformatic/kafka';
import type { KafkaSettings } from '../../../services/runtime/kafka/port.ts';
import type { Kafka } from '../../../services/runtime/kafka/port.ts';
import { prefixed } from '../../../services/runtime/kafka/prefix.ts';
import { PlatformaticAdmin } from './admin.ts';
import { PlatformaticAppender } from './appender.ts';
import { PlatformaticFetcher } from './fetcher.ts';
import { PlatformaticShare } from './share.ts';

/** `port`: of a proxy on 127.0.0.1 before all brokers; the client takes no factory of sockets. */
export function openPlatformatic(settings: KafkaSettings, port?: number): Kafka {
  const options: BaseOptions = {
    clientId: 'test',
    bootstrapBrokers: [...settings.kafka_brokers],
    // limit under test: as of the client of the services
    connectTimeout: settings.kafka_connect_ms ?? 3_000,
    // limit under test: as of the client of the services
    requestTimeout: settings.kafka_request_ms ?? 10_000,
    retries: 5,
    retryDelay: (_client, _operation, attempt) => Math.min(1_000, 100 * 2 ** (attempt - 1)),
  };
  const through = <Client extends Base>(client: Client): Client => {
    const { connections } = client;
    const get = connections.get.bind(connections);
    if (port !== undefined)
      Object.assign(connections, {
        get: (
          _broker: unknown,
          ...rest: Parameters<typeof get> extends [unknown, ...infer R] ? R : never
        ) => get({ host: '127.0.0.1', port }, ...rest),
      });
    return client;
  };
  const kafka: Kafka = {
    replication_min: settings.kafka_replication_min ?? 1,
    prefix: '',
    admin: () => new PlatformaticAdmin(options, through),
    appender: () => new PlatformaticAppender(options, through, settings.compressed_bytes_min),
    fetcher: () => new PlatformaticFetcher(options, through),
    share: (share) => new PlatformaticShare(options, through, share),
  };
  return prefixed(kafka, settings.kafka_prefix ?? '');
}
