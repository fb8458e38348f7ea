/** Every topic of the system. Read this first: what is written where, under which key, and for how long (for ever). */

export interface EventSchema {
  /** name of the event, equal to the Avro record's name and to the header `event_type` */
  readonly type: string;
  /** the Avro schema's file */
  readonly avsc: URL;
}

export interface Topic {
  readonly name: string;
  /** what it carries, in a sentence for people */
  readonly about: string;
  /** what the record key says, always text */
  readonly key: string;
  readonly partitions: number;
  /** the largest record, as a batch on the wire, in bytes */
  readonly record_bytes_max: number;
  /** topic configuration at the broker */
  readonly config: Readonly<Record<string, string>>;
  readonly events: readonly EventSchema[];
}

const MIB = 1024 * 1024;

/** Nothing is ever deleted or compacted: a replay from offset 0 is the audit. */
const KEPT_FOR_EVER = {
  'cleanup.policy': 'delete',
  'retention.ms': '-1',
  'retention.bytes': '-1',
} as const;

/** What an acknowledged record of these says about money is on disk, whatever becomes of the machine. */
const ON_DISK = {
  ...KEPT_FOR_EVER,
  'max.message.bytes': String(MIB),
  'message.timestamp.type': 'CreateTime',
  'flush.messages': '1',
} as const;

function eventOf(topic: string, type: string): EventSchema {
  return { type, avsc: new URL(`./${topic}/${type}.avsc`, import.meta.url) };
}

export const CHAIN_BLOCKS: Topic = {
  name: 'chain.blocks',
  about:
    'The CLT chain as the node told it, in one order. A block of 20,000 transactions is one record.',
  key: 'height of the block, decimal',
  partitions: 1,
  record_bytes_max: 32 * MIB,
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
  about: 'What the treasury found whenever it held supply, ledger and custody against each other.',
  key: 'id of the run',
  partitions: 1,
  record_bytes_max: MIB,
  config: {
    ...KEPT_FOR_EVER,
    'max.message.bytes': String(MIB),
    'message.timestamp.type': 'CreateTime',
  },
  events: [eventOf('reserve.runs', 'ReserveReconciled')],
};

export const DEPOSIT_ADDRESSES: Topic = {
  name: 'deposit.addresses',
  about: 'Who asked for a deposit address, in the one order that says whose is whose.',
  key: 'account of the chain token, 0x + hex; `scheme` for how addresses are derived',
  partitions: 1,
  record_bytes_max: MIB,
  config: ON_DISK,
  events: ['SchemePinned', 'AddressRequested', 'PanelOpened'].map((type) =>
    eventOf('deposit.addresses', type),
  ),
};

export const TRON_TRANSFERS: Topic = {
  name: 'tron.transfers',
  about: "What TRON's provider told of deposit addresses, and up to when it was asked.",
  key: 'deposit address, base58; `checked` for which of them were asked about',
  // schemas/tron-partition.ts says in which of them an address is
  partitions: 6,
  record_bytes_max: MIB,
  config: ON_DISK,
  events: ['TransferObserved', 'AddressesChecked'].map((type) => eventOf('tron.transfers', type)),
};

export const TREASURY_LEDGER: Topic = {
  name: 'treasury.ledger',
  about: 'Everything the treasury, or a person through it, has decided.',
  key: 'id of the deposit; `policy` for its limits',
  partitions: 1,
  record_bytes_max: MIB,
  config: ON_DISK,
  events: [
    'PolicySet',
    'DepositConfirmed',
    'DepositHeld',
    'DepositApproved',
    'DepositRejected',
    'MintIntended',
    'MintCredited',
    'MintDead',
  ].map((type) => eventOf('treasury.ledger', type)),
};

export const PROJECTOR_SKIPS: Topic = {
  name: 'projector.skips',
  about: 'What a person has a projection pass over, where no money hangs on it.',
  key: 'projection, topic, partition and offset of what is passed over',
  partitions: 1,
  record_bytes_max: MIB,
  config: {
    ...KEPT_FOR_EVER,
    'max.message.bytes': String(MIB),
    'message.timestamp.type': 'CreateTime',
  },
  events: [eventOf('projector.skips', 'RecordSkipped')],
};

export const TOPICS: readonly Topic[] = [
  CHAIN_BLOCKS,
  DEPOSIT_ADDRESSES,
  TRON_TRANSFERS,
  TREASURY_LEDGER,
  RESERVE_RUNS,
  PROJECTOR_SKIPS,
];

/**
 * The registry's subject of one event: topic and record name, so that each event evolves by itself. (A union under `<topic>-value` could never gain an
 * event: FULL_TRANSITIVE refuses a branch that older readers do not know.)
 */
export function subjectOf(topic: Topic, event: EventSchema, namespace: string): string {
  return `${topic.name}-${namespace}.${event.type}`;
}
