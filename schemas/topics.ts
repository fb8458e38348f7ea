/** Every topic of the system: its events, keys, partitions and configuration. */

export interface EventSchema {
  /** the event's name, its Avro record's name and its header `event_type` */
  readonly type: string;
  /** the file of the Avro schema */
  readonly avsc: URL;
}

export interface Topic {
  readonly name: string;
  /** the content, in a sentence for people */
  readonly about: string;
  /** the content of the record key, which is text */
  readonly key: string;
  readonly partitions: number;
  /** the topic's configuration; `max.message.bytes` limits a batch on the wire */
  readonly config: Readonly<Record<string, string>>;
  readonly events: readonly EventSchema[];
}

const MIB = 1024 * 1024;

/** No record is deleted or compacted: the audit replays from offset 0. */
const KEPT_FOR_EVER = {
  'cleanup.policy': 'delete',
  'retention.ms': '-1',
  'retention.bytes': '-1',
} as const;

/** For topics whose times are those of our clocks: one far ahead is refused by the broker. */
const OUR_CLOCKS = {
  'message.timestamp.type': 'CreateTime',
  'message.timestamp.after.max.ms': '3600000',
} as const;

/** For topics about money: an acknowledged record is on disk. */
const ON_DISK = {
  ...KEPT_FOR_EVER,
  ...OUR_CLOCKS,
  'max.message.bytes': String(MIB),
  'flush.messages': '1',
} as const;

function eventOf(topic: string, type: string): EventSchema {
  return { type, avsc: new URL(`./${topic}/${type}.avsc`, import.meta.url) };
}

export const CHAIN_BLOCKS: Topic = {
  name: 'chain.blocks',
  about:
    'The CLT chain in the order in which the node reported it. A block of up to 20,000 transactions is one record.',
  key: 'height of the block, decimal',
  partitions: 1,
  config: {
    ...KEPT_FOR_EVER,
    'max.message.bytes': String(32 * MIB),
    'message.timestamp.type': 'CreateTime',
  },
  events: ['BlockAppended', 'BlockReverted', 'BlocksFinalized'].map((type) =>
    eventOf('chain.blocks', type),
  ),
};

export const RESERVE_RUNS: Topic = {
  name: 'reserve.runs',
  about: "The treasury's reconciliations of supply, ledger and custody.",
  key: 'id of the run',
  partitions: 1,
  config: {
    ...KEPT_FOR_EVER,
    ...OUR_CLOCKS,
    'max.message.bytes': String(MIB),
  },
  events: [eventOf('reserve.runs', 'ReserveReconciled')],
};

export const DEPOSIT_ADDRESSES: Topic = {
  name: 'deposit.addresses',
  about: 'Requests for deposit addresses. Their order determines the address of each account.',
  key: 'account of the chain token, 0x + hex; `scheme` for the derivation scheme',
  partitions: 1,
  config: ON_DISK,
  events: ['SchemePinned', 'AddressRequested', 'PanelOpened'].map((type) =>
    eventOf('deposit.addresses', type),
  ),
};

export const TRON_TRANSFERS: Topic = {
  name: 'tron.transfers',
  about:
    'Transfers to deposit addresses on TRON, and the time up to which each address was checked.',
  key: 'deposit address, base58; `checked` for checks of addresses',
  // by schemas/tron-partition.ts
  partitions: 6,
  config: ON_DISK,
  events: ['TransferObserved', 'AddressesChecked'].map((type) => eventOf('tron.transfers', type)),
};

export const TREASURY_LEDGER: Topic = {
  name: 'treasury.ledger',
  about: 'The decisions of the treasury, and of persons through it.',
  key: 'id of the deposit; `deposits` for several, `policy` for limits, `governance` for what is about no deposit',
  partitions: 1,
  config: ON_DISK,
  events: [
    'LedgerPinned',
    'PolicySet',
    'OperatorsSet',
    'CustodyPinned',
    'AuthoritySet',
    'BaselinePinned',
    'MintAcknowledged',
    'SurplusBooked',
    'MintingSet',
    'DepositConfirmed',
    'DepositHeld',
    'DepositApproved',
    'DepositRejected',
    'DepositsDecided',
    'MintIntended',
    'MintCredited',
    'MintDead',
    'MintVoided',
    'RefundRecorded',
  ].map((type) => eventOf('treasury.ledger', type)),
};

export const PROJECTOR_SKIPS: Topic = {
  name: 'projector.skips',
  about:
    'Records that no reader can apply and a person has skipped. A decision is for all readers.',
  key: 'projection, topic, partition and offset of the skipped record',
  partitions: 1,
  config: {
    ...KEPT_FOR_EVER,
    ...OUR_CLOCKS,
    'max.message.bytes': String(MIB),
  },
  events: [eventOf('projector.skips', 'RecordSkipped')],
};

/** JSON (`schema.ids/pin.ts`), so it is none of `TOPICS`, whose values are Avro. */
export const SCHEMA_IDS: Topic = {
  name: 'schema.ids',
  about:
    'The schema that each id in the values of this log names: the registry can be made from it.',
  key: 'id',
  partitions: 1,
  config: ON_DISK,
  events: [],
};

/**
 * Bytes (`services/runtime/snapshots`), no events. Newer ones replace older ones: without any of
 * them the treasury reads its logs from their beginning.
 */
export const TREASURY_SNAPSHOTS: Topic = {
  name: 'treasury.snapshots',
  about: 'What the treasury holds in memory, so that its start reads only what came since.',
  key: 'id of the snapshot',
  partitions: 1,
  config: {
    ...OUR_CLOCKS,
    'cleanup.policy': 'delete',
    'retention.ms': '-1',
    'retention.bytes': String(1024 * MIB),
    'segment.bytes': String(128 * MIB),
    'max.message.bytes': String(MIB),
  },
  events: [],
};

/** Every topic of events. */
export const TOPICS: readonly Topic[] = [
  CHAIN_BLOCKS,
  DEPOSIT_ADDRESSES,
  TRON_TRANSFERS,
  TREASURY_LEDGER,
  RESERVE_RUNS,
  PROJECTOR_SKIPS,
];

/**
 * Settings against loss, of every topic. An acknowledged record is on so many replicas: all but one
 * of the declared, and two where there are two. No broker leads that lacks one.
 */
export function durableConfig(replicas: number): Topic['config'] {
  return {
    'min.insync.replicas': String(Math.min(replicas, Math.max(2, replicas - 1))),
    'unclean.leader.election.enable': 'false',
  };
}

/**
 * The registry's subject of one event: topic and record name (TopicRecordNameStrategy), so that
 * each event evolves on its own. A union under `<topic>-value` could never gain an event, because
 * FULL_TRANSITIVE refuses a branch that older readers do not know.
 */
export function subjectOf(topic: Topic, event: EventSchema, namespace: string): string {
  return `${topic.name}-${namespace}.${event.type}`;
}
