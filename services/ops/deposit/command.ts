/** `ops deposit list|show|approve|reject`: what deposits there are, the whole story of one, and a person's decision, which is an event and hence part of the audit. */
import { byStatus, depositById, eventsById } from '../../../projections/deposits/queries.ts';
import {
  approve,
  reject,
  type HumanRefusal,
} from '../../../projections/deposits/domain/approval.ts';
import { parseDepositId } from '../../../schemas/deposit-id.ts';
import { TREASURY_LEDGER } from '../../../schemas/topics.ts';
import { openCodec } from '../../runtime/kafka/codec.ts';
import { httpUrl, list, postgresUrl, readConfig } from '../../runtime/process/config.ts';
import { openKafka } from '../../runtime/kafka/client.ts';
import { openLog } from '../../runtime/process/log.ts';
import { openReader, type Reader } from '../../runtime/postgres/pool.ts';
import { environmentOf } from '../config.ts';
import { listed, listText, shown, showText } from './text.ts';
import { LedgerLog } from './ledger-log.ts';
import { commandOf, Misuse, readArguments, refuseWords } from '../usage.ts';

const USAGE = `usage: npm run ops -- deposit <command> [--json] [--help]

  list [--status S]       deposits by status, newest first: confirmed, mint_requested, credited, needs_manual (the default); --limit (20, at most 100)
  show <id>               all that is known of one: every event with topic, partition and offset
  approve <id> --actor A --reason R    has a held deposit minted; it still waits for the rolling cap
  reject <id> --actor A --reason R     leaves it unminted, for good; the USDT stays in the reserve

  --json    JSON instead of text
  --stack   the stack file to take addresses from where no APP_... variable gives them; default .local/stack.json, in APP_LOCAL_DIR where that is set

Exits 0 when it is done or was done before, 1 when it is refused, 2 when something did not answer.
`;

const STATUSES: ReadonlySet<string> = new Set([
  'confirmed',
  'mint_requested',
  'credited',
  'needs_manual',
]);
const OPTIONS = {
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
  stack: { type: 'string' },
  status: { type: 'string', default: 'needs_manual' },
  limit: { type: 'string', default: '20' },
  actor: { type: 'string', default: '' },
  reason: { type: 'string', default: '' },
} as const;
const DECISION = ['actor', 'reason'];
const COMMANDS = {
  name: 'deposit',
  options: { list: ['status', 'limit'], show: [], approve: DECISION, reject: DECISION },
  usage: USAGE,
};
const TEXT_MAX = 1_000;

const READER_SETTINGS = { postgres_reader_url: postgresUrl('APP_POSTGRES_READER_URL') } as const;
const LEDGER_SETTINGS = {
  kafka_brokers: list('APP_KAFKA_BROKERS'),
  registry_url: httpUrl('APP_REGISTRY_URL'),
} as const;

const REFUSALS: Readonly<Record<HumanRefusal, string>> = {
  no_such_deposit: 'there is no such deposit',
  not_waiting_for_a_person: 'it does not wait for a person: `deposit show` says how it is',
  rejected_for_good: 'it was rejected, which is for good',
  nothing_to_mint: 'the fee took all of it: there is nothing to mint',
  over_rolling_cap:
    'its credit is above the rolling cap itself: raise APP_ROLLING_CAP of the treasury first',
};

type Values = ReturnType<typeof parse>['values'];

function parse(args: readonly string[]) {
  return readArguments(args, OPTIONS, USAGE);
}

/** `args` are those behind `deposit`. The exit code. */
export async function deposit(args: readonly string[], stackFile: string): Promise<number> {
  const { values, positionals } = parse(args);
  if (values.help) return said(USAGE, 0);
  const stack = values.stack ?? stackFile;
  const [command, ...words] = commandOf(args, positionals, COMMANDS);
  if (command === 'list') {
    refuseWords('deposit list', words, USAGE);
    return listDeposits(values, stack);
  }
  const [given, ...more] = words;
  if (given === undefined || more.length > 0)
    throw new Misuse(`name one deposit: deposit ${command} <id>`, USAGE);
  const id = parseDepositId(given);
  if (id === undefined)
    return refuse(
      `that is no id of a deposit: they look like 6db65fd5-9fd3-86f6-b291-40571b5bcd6b\n`,
    );
  return command === 'show'
    ? showDeposit(id, values, stack)
    : decide(command === 'approve', id, values, stack);
}

async function listDeposits({ status, limit, json }: Values, stack: string): Promise<number> {
  if (!STATUSES.has(status)) return refuse(`--status is one of ${[...STATUSES].join(', ')}\n`);
  if (!/^(?:[1-9][0-9]?|100)$/.test(limit))
    return refuse('--limit is a whole number from 1 to 100\n');
  const rows = await reading(stack, (reader) =>
    reader.rows(byStatus(status, { limit: Number(limit), below: undefined })),
  );
  const deposits = rows.map(listed);
  return said(`${json ? JSON.stringify(deposits) : listText(deposits, status)}\n`, 0);
}

async function showDeposit(id: string, { json }: Values, stack: string): Promise<number> {
  const [cells, events] = await reading(
    stack,
    async (reader) =>
      [(await reader.rows(depositById(id)))[0], await reader.rows(eventsById(id))] as const,
  );
  if (cells === undefined) return refuse(`${REFUSALS.no_such_deposit}\n`);
  const found = shown(cells, events);
  return said(`${json ? JSON.stringify(found) : showText(found)}\n`, 0);
}

async function reading<Result>(
  stack: string,
  ask: (reader: Reader) => Promise<Result>,
): Promise<Result> {
  const config = readConfig(environmentOf(process.env, stack, READER_SETTINGS), READER_SETTINGS);
  const log = openLog({ service: 'ops', level: 'fatal' });
  const reader = openReader(
    { ...config, application_name: 'ops', statement_timeout_ms: 5_000, connections_max: 1 },
    log,
  );
  try {
    return await ask(reader);
  } finally {
    await reader.close();
  }
}

async function decide(
  approves: boolean,
  id: string,
  { actor, reason, json }: Values,
  stack: string,
): Promise<number> {
  const person = { actor: actor.trim(), reason: reason.trim() };
  if (Object.values(person).some((text) => text === '' || text.length > TEXT_MAX))
    return refuse(
      `--actor and --reason are both needed, of at most ${TEXT_MAX} characters: they stay in the ledger for ever\n`,
    );
  const config = readConfig(environmentOf(process.env, stack, LEDGER_SETTINGS), LEDGER_SETTINGS);
  const log = openLog({ service: 'ops', level: 'fatal' });
  const codec = await openCodec(config.registry_url, [TREASURY_LEDGER]);
  const books = new LedgerLog({
    kafka: openKafka({ ...config, client_id: 'ops' }, log),
    codec,
    log,
  });
  const decided = await books.decide((ledger) =>
    (approves ? approve : reject)(ledger, { deposit_id: id, ...person, now: Date.now() }),
  );
  if ('refused' in decided)
    return json
      ? said(`${JSON.stringify({ refused: decided.refused })}\n`, 1)
      : refuse(`refused: ${REFUSALS[decided.refused]}\n`);
  const { status } = books.ledger.deposit(id);
  const { appended } = decided;
  if (json) {
    const place = appended === undefined ? null : { ...appended, offset: String(appended.offset) };
    return said(`${JSON.stringify({ deposit_id: id, status, appended: place })}\n`, 0);
  }
  const done = approves ? 'approved' : 'rejected';
  if (appended === undefined)
    return said(`${id} was ${done} before: nothing to do; it is ${status}\n`, 0);
  return said(
    `${id} is ${done}: ${appended.topic}/${appended.partition}@${appended.offset}; it is ${status}\n`,
    0,
  );
}

function said(text: string, code: number): number {
  process.stdout.write(text);
  return code;
}

function refuse(text: string): number {
  process.stderr.write(text);
  return 1;
}
