/**
 * The rights of every service in a Kafka that has an authorizer. Each service has a principal of
 * its own name. The administrator creates the topics, so nobody else needs the right to.
 */
import {
  CHAIN_BLOCKS,
  DEPOSIT_ADDRESSES,
  PROJECTOR_SKIPS,
  RESERVE_RUNS,
  SCHEMA_IDS,
  TOPICS,
  TREASURY_LEDGER,
  TREASURY_SNAPSHOTS,
  TRON_TRANSFERS,
  type Topic,
} from '../../schemas/topics.ts';

export interface Rights {
  /** the name of the service, by which Kafka knows it */
  readonly principal: string;
  /** whose records it reads */
  readonly reads: readonly Topic[];
  /** of which it knows the settings and the ends only */
  readonly describes: readonly Topic[];
  readonly appends: readonly Topic[];
  /** how the names of its consumer groups begin */
  readonly groups: readonly string[];
}

/** The principal of the operator's commands. */
export const OPERATOR = 'ops';

/** The file of a principal's password, in a folder of secrets. */
export function kafkaPasswordFile(principal: string): string {
  return `kafka_${principal.replaceAll('-', '_')}`;
}

function rights(
  principal: string,
  { reads = [], describes = [], appends = [], groups = [] }: Partial<Omit<Rights, 'principal'>>,
): Rights {
  return {
    principal,
    // who reads events needs the pinned ids of their schemas; who appends one pins its id
    reads: [...reads, ...(reads.length + appends.length > 0 ? [SCHEMA_IDS] : [])],
    describes,
    appends: [...appends, ...(appends.length > 0 ? [SCHEMA_IDS] : [])],
    groups,
  };
}

function projector(name: string, group: string, topics: readonly Topic[]): Rights {
  const reads = [...topics, PROJECTOR_SKIPS];
  return rights(`projector-${name}`, { reads, groups: [`projector-${group}`] });
}

export const RIGHTS: readonly Rights[] = [
  rights('chain-ingester', {
    reads: [CHAIN_BLOCKS, PROJECTOR_SKIPS],
    appends: [CHAIN_BLOCKS],
    groups: ['chain-ingester'],
  }),
  projector('explorer', 'explorer', [CHAIN_BLOCKS]),
  // shows how far every projection lags
  rights('explorer-gateway', { describes: TOPICS }),
  rights('treasury', {
    reads: [
      CHAIN_BLOCKS,
      DEPOSIT_ADDRESSES,
      TRON_TRANSFERS,
      TREASURY_LEDGER,
      RESERVE_RUNS,
      PROJECTOR_SKIPS,
      TREASURY_SNAPSHOTS,
    ],
    appends: [TREASURY_LEDGER, RESERVE_RUNS, TREASURY_SNAPSHOTS],
    groups: ['treasury'],
  }),
  projector('reserve', 'reserve', [RESERVE_RUNS]),
  projector('deposits', 'deposits', [DEPOSIT_ADDRESSES, TREASURY_LEDGER]),
  rights('deposit-gateway', {
    reads: [DEPOSIT_ADDRESSES, PROJECTOR_SKIPS],
    appends: [DEPOSIT_ADDRESSES],
  }),
  projector('watch', 'watch', [DEPOSIT_ADDRESSES, TRON_TRANSFERS]),
  rights('tron-watcher', {
    reads: [TRON_TRANSFERS],
    describes: [DEPOSIT_ADDRESSES],
    appends: [TRON_TRANSFERS],
    groups: ['tron-watcher'],
  }),
  projector('ride-market', 'ride_market', [CHAIN_BLOCKS]),
  projector('series', 'series', [CHAIN_BLOCKS]),
  rights(OPERATOR, {
    reads: TOPICS,
    // decisions of persons, runs on demand, records to skip
    appends: [TREASURY_LEDGER, RESERVE_RUNS, PROJECTOR_SKIPS],
  }),
];

export type Operation = 'Read' | 'Write' | 'Describe' | 'DescribeConfigs';

export interface Acl {
  readonly principal: string;
  readonly resource: 'topic' | 'group';
  readonly name: string;
  /** every resource whose name begins so */
  readonly is_prefix: boolean;
  readonly operations: readonly Operation[];
}

/** The rights of all services as Kafka's rules; `prefix` is that of topics and groups. */
export function aclsOf({ principal, ...rule }: Rights, prefix = ''): readonly Acl[] {
  const topics = new Set([...rule.reads, ...rule.describes, ...rule.appends]);
  return [
    ...[...topics].map((topic): Acl => ({
      principal,
      resource: 'topic',
      name: `${prefix}${topic.name}`,
      is_prefix: false,
      operations: [
        'Describe',
        'DescribeConfigs',
        ...(rule.reads.includes(topic) ? ['Read' as const] : []),
        ...(rule.appends.includes(topic) ? ['Write' as const] : []),
      ],
    })),
    ...rule.groups.map((group): Acl => ({
      principal,
      resource: 'group',
      name: `${prefix}${group}`,
      is_prefix: true,
      operations: ['Read', 'Describe'],
    })),
  ];
}
