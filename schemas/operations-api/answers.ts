/** Answers of `ops console`. Amounts are micro-USDT, as digits; offsets are digits too. */
import { Type, type Static, type TSchema } from 'typebox';
import { ID, TRON_ADDRESS, TRON_TX_ID } from '../deposit-api/deposits.ts';
import { ADDRESS, COUNT, HASH, TIME } from '../explorer-api/values.ts';
import { exampleOf, field, nullable, record, word, type Shape } from '../http-api/answer.ts';

function text(example: string, description?: string) {
  return Type.String({ example, ...(description !== undefined && { description }) });
}
/** Text or null. */
function perhaps(example: string | null, description?: string) {
  return nullable(Type.String(), example, description);
}
function flag(example: boolean, description?: string) {
  return Type.Boolean({ example, ...(description !== undefined && { description }) });
}
function byName<Value>(schema: TSchema, example: Readonly<Record<string, string | number>>) {
  const options = { type: 'object', additionalProperties: schema, example };
  return Type.Unsafe<Record<string, Value>>(options);
}

const DIGITS = Type.String({
  $id: 'Digits',
  description: 'A whole number of any size.',
  pattern: '^-?[0-9]+$',
});
const PARTITION = { topic: text('treasury.ledger'), partition: COUNT };
const PLACE = { ...PARTITION, offset: field(DIGITS, '1042') };

export type Part<Value> =
  { readonly is: Value; readonly problem: null } | { readonly is: null; readonly problem: string };

/** A part of an answer, or why it is not known. */
function part<Schema extends TSchema>(schema: Schema) {
  const known = Type.Object({ is: schema, problem: Type.Null() });
  const unknown = Type.Object({ is: Type.Null(), problem: Type.String() });
  return Type.Unsafe<Part<Static<Schema>>>({
    oneOf: [known, unknown],
    example: { is: exampleOf(schema), problem: null },
  });
}

export type Challenge = Shape<typeof CHALLENGE>;
export const CHALLENGE = record('Challenge', {
  text: text('127.0.0.1:17030 wants you to sign in with your Ethereum account:\n0x7E5F...'),
});

export type Session = Shape<typeof SESSION>;
export const SESSION = record('Session', {
  token: text('ThWmZq4t7w0z2C5F8J0NcRfUjXn2r5u8x0AbDeGhKkM'),
  operator: ADDRESS,
  expires_at: field(COUNT, 1_795_246_083_000, 'Unix milliseconds.'),
});

export type ServiceHealth = Shape<typeof SERVICE>;
/** With all that the service says of itself. */
const SERVICE = Type.Object(
  {
    name: text('treasury'),
    url: text('http://127.0.0.1:17004'),
    status: word(['ready', 'starting', 'working', 'waiting', 'halted', 'unreachable']),
    ready: flag(true),
    phase: text('deciding'),
    waits_for: perhaps(null),
    eta_s: nullable(Type.Number(), null),
    message: perhaps(null, 'Why it is not ready; when it is: what needs a person nevertheless.'),
    notes: Type.Array(text('1 deposit waits')),
    metrics: byName<number>(Type.Number(), { 'lease held': 1 }),
  },
  { $id: 'ServiceHealth' },
);

export type Position = Shape<typeof POSITION>;
const POSITION = record('Position', {
  projection: text('deposits'),
  version: COUNT,
  ...PARTITION,
  next_offset: field(DIGITS, '1042'),
  lag: nullable(DIGITS, '0', 'Records that are not applied; null while the brokers are away.'),
  rate: Type.Integer({ description: 'Records in a second.', example: 12 }),
  idle_seconds: Type.Number({ description: 'Since the checkpoint moved.', example: 0.4 }),
  loading: flag(false, 'Its tables have no indexes yet.'),
});

const SERVER = record('Server', {
  kind: word(['kafka', 'postgres']),
  name: text('127.0.0.1:15432'),
  state: word(['broker', 'primary', 'replica', 'away']),
  why: perhaps(
    'stopped or crashed, nothing listens: npx ops start postgres',
    'Why it is away, and the first command to use; null: it is not, or nothing tells.',
  ),
  timeline: perhaps('00000001', 'Of a primary of Postgres: the higher one was promoted later.'),
  started_at: nullable(Type.Number(), 1_795_246_083.2, 'Unix seconds; null: not known.'),
  slots: Type.Array(
    record('Slot', {
      name: text('postgres_2'),
      is_active: flag(true),
      bytes: COUNT,
      is_lost: flag(false),
    }),
    { description: 'Replication slots of a primary.' },
  ),
});
export type Money = Shape<typeof MONEY>;
const MONEY = record('Money', {
  amounts: Type.Array(
    record('NamedAmount', {
      name: text('custody'),
      amount: field(DIGITS, '9005000000'),
      unit: word(['USDT', 'CLT']),
    }),
    { description: 'Of the newest reserve run, and the room under the cap; those that are known.' },
  ),
  states: Type.Array(
    record('NamedState', {
      name: text('minting'),
      text: text('open'),
      tone: word(['good', 'warn', 'bad', 'plain']),
    }),
  ),
  waiting: nullable(
    Type.Array(
      record('WaitingReason', {
        reason: text('below_minimum'),
        deposits: field(COUNT, 3),
        amount: field(DIGITS, '750000', 'What arrived for them, together.'),
      }),
    ),
    [{ reason: 'below_minimum', deposits: 3, amount: '750000' }],
    'Deposits that wait for a person, of the newest 10,000, most money first; null: Postgres does not answer.',
  ),
});
const STATUS = record('Status', {
  node: nullable(
    record('Heights', { height: COUNT, finalized_height: Type.Integer() }),
    { height: 1200, finalized_height: 1189 },
    'null while the node does not answer.',
  ),
  log: nullable(Type.Array(record('LogEnd', { ...PARTITION, low: DIGITS, high: DIGITS })), [
    { topic: 'treasury.ledger', partition: 0, low: '0', high: '1042' },
  ]),
  projections: nullable(Type.Array(POSITION), [exampleOf(POSITION)]),
  servers: nullable(
    Type.Array(SERVER),
    [exampleOf(SERVER)],
    'Brokers and hosts of Postgres; null: nothing is known of them.',
  ),
  services: nullable(Type.Array(SERVICE), [exampleOf(SERVICE)], 'null: no stack file lists them.'),
  money: MONEY,
  disk: nullable(record('Disk', { path: text('/data'), free_bytes: COUNT }), null),
  age_seconds: record('Ages', {
    node: nullable(
      Type.Number(),
      1.2,
      'Since it was read, as the others; null: it did not answer.',
    ),
    log: nullable(Type.Number(), 0.1),
    projections: nullable(Type.Number(), 0.2),
    services: nullable(Type.Number(), 1.1, 'Since the first one answered.'),
  }),
  attention: Type.Array(text('treasury: halted'), {
    description: 'A line for each thing that needs a person; none: all is well.',
  }),
});

export type Staged = Shape<typeof STAGED>;
const STAGED = record('Staged', {
  projection: text('deposits'),
  version: COUNT,
  task: word(['rebuild', 'verify']),
  state: word(['loading', 'indexing', 'catching_up', 'stopped'], {
    description: 'stopped: the same command goes on from here.',
  }),
  by: perhaps('pid 12 on host', 'null: no process works on it.'),
  records: field(DIGITS, '4'),
  records_all: nullable(DIGITS, '1042', 'In the log; null while the brokers are away.'),
});

const QUARANTINED = record('Quarantined', {
  projection: text('explorer'),
  ...PLACE,
  fingerprint: text('0x5b1f'),
  error: text('a value of no schema'),
  found_at: TIME,
  skipped_at: nullable(TIME, null),
  state: word(['halts', 'skipped', 'mended'], {
    description: 'mended: the projection has applied the record since, without a decision.',
  }),
});

export type Alert = Shape<typeof ALERT>;
const ALERT = record('Alert', {
  name: text('ReserveMismatch'),
  state: text('firing', 'Or pending: its condition holds, and not for long enough yet.'),
  severity: perhaps('page'),
  service: perhaps('treasury'),
  text: text('the reserve does not fit. look at ops reserve runs', 'And what to do.'),
  since: text('2026-11-21T07:28:02.5Z', 'ISO 8601.'),
});

const OF_DEPOSIT = {
  id: ID,
  clt_address: ADDRESS,
  amount_usdt: field(DIGITS, '10000000', 'Amount that arrived.'),
  fee_usdt: field(DIGITS, '2000000'),
  credit_usdt: field(DIGITS, '8000000'),
  status: text('needs_manual'),
  reason: perhaps('over_single_cap'),
  approved: flag(false),
  rejected: flag(false),
  created_at: TIME,
};

export type Waiting = Shape<typeof WAITING>;
const WAITING = record('Waiting', {
  ...OF_DEPOSIT,
  approvals: nullable(COUNT, 1, 'Of the two that it needs; null: it needs one.'),
  cursor: field(DIGITS, '1042'),
});

export type WaitingList = Shape<typeof WAITING_LIST>;
export const WAITING_LIST = record('WaitingList', {
  deposits: Type.Array(WAITING, { description: 'Newest first.' }),
  has_more: flag(false),
});

export type Dust = Shape<typeof DUST>;
const DUST = record(
  'Dust',
  {
    below: field(DIGITS, '10000'),
    deposits: COUNT,
    amount: field(DIGITS, '6', 'What arrived for them, together.'),
  },
  'The deposits that wait and are of less than `below`.',
);

const ALERTS = part(Type.Array(ALERT));

export type Operations = Shape<typeof OPERATIONS>;
export const OPERATIONS = record('Operations', {
  at: TIME,
  ledger: record('LedgerState', {
    problem: perhaps(null),
    network: perhaps('testnet'),
    operators: field(COUNT, 2),
  }),
  status: part(STATUS),
  quarantine: part(Type.Array(QUARANTINED)),
  rebuilds: part(Type.Array(STAGED)),
  waiting: part(record('WaitingAndDust', { ...WAITING_LIST.properties, dust: DUST })),
  alerts: nullable(ALERTS, exampleOf(ALERTS), 'null: no setting names a Prometheus.'),
});

export type Deposit = Shape<typeof DEPOSIT>;
export const DEPOSIT = record('Deposit', {
  ...OF_DEPOSIT,
  deposit_address: TRON_ADDRESS,
  tron_tx_id: TRON_TX_ID,
  log_index: Type.Integer({ example: 0 }),
  mint_nonce: nullable(DIGITS, null),
  mint_tx_hash: nullable(HASH, null),
  events: Type.Array(
    record('DepositEvent', {
      event: text('DepositHeld'),
      at: TIME,
      ...PLACE,
      details: byName<string>(Type.String(), { reason: 'over_single_cap', gross: '10000000' }),
    }),
  ),
  effects: nullable(
    record('Effects', {
      approve: text('mints 8.00 CLT'),
      reject: text('mints nothing, for good'),
      approved_by: Type.Array(ADDRESS),
    }),
    null,
    'Of each decision; null: it waits for nobody.',
  ),
});

export type Proposal = Shape<typeof PROPOSAL>;
export const PROPOSAL = record('Proposal', {
  sequence: field(COUNT, 1042, 'The place of the decision in the ledger.'),
  decided_at: field(COUNT, 1_795_246_083_000, 'Unix milliseconds.'),
  ledger_id: perhaps('0x5b1f', 'The text names it; null: the ledger is not pinned yet.'),
  text: perhaps('CLT treasury\nDepositApproved\n...', 'As EIP-191; null: decided before.'),
  deposit_ids: Type.Array(ID, { description: 'Those of the text, in its order.' }),
  left_out: Type.Array(
    record('LeftOut', { deposit_id: ID, why: text('it was decided so before') }),
  ),
});

export type Decided = Shape<typeof DECIDED>;
export const DECIDED = record('Decided', {
  appended: nullable(
    record('Appended', PLACE),
    { topic: 'treasury.ledger', partition: 0, offset: '1042' },
    'null: it was decided before.',
  ),
});

export type TopicList = Shape<typeof TOPIC_LIST>;
export const TOPIC_LIST = record('TopicList', {
  topics: Type.Array(
    record('Topic', { name: text('treasury.ledger'), types: Type.Array(text('DepositHeld')) }),
  ),
});

export type RecordLine = Shape<typeof RECORD_LINE>;
export const RECORD_LINE = Type.Object(
  {
    ...PLACE,
    time: text('2026-11-21T07:28:03.000Z'),
    key: perhaps('6db65fd5-9fd3-86f6-b291-40571b5bcd6b'),
    headers: byName<unknown>(Type.Unknown(), { source: 'treasury' }),
    type: perhaps('DepositHeld', 'null: its schema is not known.'),
    schema_id: nullable(COUNT, 7),
    value: Type.Unknown({ example: { deposit_id: '6db65fd5-9fd3-86f6-b291-40571b5bcd6b' } }),
    error: Type.Optional(Type.String({ description: 'Why there is no value; raw has its bytes.' })),
  },
  { $id: 'Record' },
);

const WAITING_NOTE = Type.Object({
  waiting: perhaps(null, 'Why nothing comes; null: it goes on.'),
});
export type StreamLine = Shape<typeof STREAM_LINE>;
export const STREAM_LINE = Type.Unsafe<Static<typeof RECORD_LINE> | Static<typeof WAITING_NOTE>>({
  oneOf: [RECORD_LINE, WAITING_NOTE],
});
