/** `ops deposit list|show|approve|reject`. A decision is an event, hence part of the audit. */
import { byStatus, depositById, eventsById } from '../../../projections/deposits/queries.ts';
import {
  approve,
  reject,
  type HumanRefusal,
} from '../../../projections/deposits/domain/approval.ts';
import { parseDepositId } from '../../../schemas/deposit-id.ts';
import { TREASURY_LEDGER } from '../../../schemas/topics.ts';
import { openCodec } from '../../runtime/kafka/codec.ts';
import { KAFKA, POSTGRES_READER, readSettings, REGISTRY } from '../config.ts';
import { jsonOf, kafkaOf, LOG, print, withReader } from '../connections.ts';
import { count, decision, Misuse, type SharedArguments } from '../usage.ts';
import { LedgerLog } from './ledger-log.ts';
import { listed, listText, shown, showText } from './text.ts';

const LIST_MAX = 100;

const REFUSALS: Readonly<Record<HumanRefusal, string>> = {
  no_such_deposit: 'there is no such deposit',
  not_waiting_for_a_person: 'it does not wait for a person: deposit show tells its status',
  rejected_for_good: 'it was rejected, which is for good',
  nothing_to_mint: 'the fee took all of it: there is nothing to mint',
  over_rolling_cap:
    'its credit is above the rolling cap itself: raise APP_ROLLING_CAP of the treasury first',
};

interface ListArguments extends SharedArguments {
  readonly status: string;
  readonly limit: string;
}

export async function listDeposits(args: ListArguments): Promise<number> {
  const limit = count('--limit', args.limit, LIST_MAX);
  const rows = await withReader(readSettings(POSTGRES_READER, args.stack), (reader) =>
    reader.rows(byStatus(args.status, { limit, below: undefined })),
  );
  const deposits = rows.map(listed);
  print(args.json === true ? jsonOf(deposits) : listText(deposits, args.status));
  return 0;
}

interface IdArguments extends SharedArguments {
  readonly id: string;
}

export async function showDeposit(args: IdArguments): Promise<number> {
  const id = readId(args);
  const [rows, events] = await withReader(
    readSettings(POSTGRES_READER, args.stack),
    async (reader) =>
      [await reader.rows(depositById(id)), await reader.rows(eventsById(id))] as const,
  );
  const [cells] = rows;
  if (cells === undefined) throw new Misuse(REFUSALS.no_such_deposit);
  const deposit = shown(cells, events);
  print(args.json === true ? jsonOf(deposit) : showText(deposit));
  return 0;
}

interface DecisionArguments extends IdArguments {
  readonly actor: string;
  readonly reason: string;
}

export async function decide(verb: 'approve' | 'reject', args: DecisionArguments): Promise<number> {
  const deposit_id = readId(args);
  const person = decision(args);
  const config = readSettings({ ...KAFKA, ...REGISTRY }, args.stack);
  const codec = await openCodec(config.registry_url, [TREASURY_LEDGER]);
  const log = new LedgerLog({ kafka: kafkaOf(config), codec, log: LOG });
  const decider = verb === 'approve' ? approve : reject;
  const decided = await log.decide((ledger) =>
    decider(ledger, { deposit_id, ...person, now: Date.now() }),
  );
  if ('refused' in decided) {
    if (args.json !== true) throw new Misuse(`refused: ${REFUSALS[decided.refused]}`);
    print(jsonOf({ refused: decided.refused }));
    return 1;
  }
  const { status } = log.ledger.deposit(deposit_id);
  const { appended } = decided;
  const done = verb === 'approve' ? 'approved' : 'rejected';
  if (args.json === true) print(jsonOf({ deposit_id, status, appended: appended ?? null }));
  else if (appended === undefined)
    print(`${deposit_id} was ${done} before: nothing to do; it is ${status}`);
  else {
    const { topic, partition, offset } = appended;
    print(`${deposit_id} is ${done}: ${topic}/${partition}@${offset}; it is ${status}`);
  }
  return 0;
}

function readId({ id }: IdArguments): string {
  const parsed = parseDepositId(id);
  if (parsed === undefined)
    throw new Misuse(
      'that is no id of a deposit: they look like 6db65fd5-9fd3-86f6-b291-40571b5bcd6b',
    );
  return parsed;
}
