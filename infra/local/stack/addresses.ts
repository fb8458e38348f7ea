import { database, reader, writer } from '../../postgres/settings.ts';
import type { Ports } from './ports.ts';
import { postgresUrl } from '../../postgres/databases.ts';
import { registry_path } from '../servers/registry.ts';

/** The addresses at which services find each other. */
export interface Addresses {
  /** host:port, several separated by commas */
  readonly kafka_brokers: string;
  readonly registry_url: string;
  /** for the role that owns and writes the tables */
  readonly postgres_url: string;
  /** for the role that may only SELECT */
  readonly postgres_reader_url: string;
  readonly redis_url: string;
  readonly node_url: string;
  /** TronGrid's API, without a path */
  readonly tron_url: string;
  /** without a path */
  readonly treasury_url: string;
}

/** The addresses of a stack on this machine. */
export function localAddresses(ports: Ports): Addresses {
  const postgres = `127.0.0.1:${ports.postgres}`;
  return {
    kafka_brokers: `127.0.0.1:${ports.kafka}`,
    registry_url: `http://127.0.0.1:${ports.registry}${registry_path}`,
    postgres_url: postgresUrl(writer, postgres, database),
    postgres_reader_url: postgresUrl(reader, postgres, database),
    redis_url: `redis://127.0.0.1:${ports.redis}`,
    node_url: `http://127.0.0.1:${ports.node}`,
    tron_url: `http://127.0.0.1:${ports.tron}`,
    treasury_url: `http://127.0.0.1:${ports.treasury}`,
  };
}
