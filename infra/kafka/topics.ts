/** The topics of a cluster, as its administrator creates them. */
import {
  durableConfig,
  SCHEMA_IDS,
  TOPICS,
  TREASURY_SNAPSHOTS,
  type Topic,
} from '../../schemas/topics.ts';

/** Every topic. */
export const ALL_TOPICS: readonly Topic[] = [...TOPICS, SCHEMA_IDS, TREASURY_SNAPSHOTS];

/** The services' settings of the same cluster. */
export interface Layout {
  /** of topics and groups */
  readonly prefix: string;
  readonly replicas: number;
}

export function layoutOf({
  APP_KAFKA_PREFIX: prefix = '',
  APP_KAFKA_REPLICATION_MIN: replicas = '3',
}: NodeJS.ProcessEnv): Layout {
  return { prefix, replicas: Number(replicas) };
}

export function newTopics({
  prefix,
  replicas,
}: Layout): Pick<Topic, 'name' | 'partitions' | 'config'>[] {
  return ALL_TOPICS.map(({ name, partitions, config }) => ({
    name: `${prefix}${name}`,
    partitions,
    config: { ...config, ...durableConfig(replicas) },
  }));
}
