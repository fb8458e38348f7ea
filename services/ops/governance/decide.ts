/**
 * Makes a person's decision an event of the ledger. Where operators are in force, their signature
 * covers the offset that the event is written for, so that it is made anew after each lost race.
 */
import type {
  HumanRefusal,
  Person,
  RefundRefusal,
} from '../../../projections/deposits/domain/approval.ts';
import type { Decision } from '../../../projections/deposits/domain/confirmation.ts';
import { signatureRefusal } from '../../../projections/deposits/domain/governance.ts';
import type { GovernanceRefusal } from '../../../projections/deposits/domain/governing.ts';
import type { Ledger } from '../../../projections/deposits/domain/ledger.ts';
import type { HumanDecision } from '../../../schemas/operator-signature.ts';
import { brokenRule } from '../../../schemas/rules.ts';
import { TREASURY_LEDGER } from '../../../schemas/topics.ts';
import { LEDGER_RULES } from '../../../schemas/treasury.ledger/rules.ts';
import type { LogPosition } from '../audit/findings.ts';
import { openCodec } from '../../runtime/kafka/codec.ts';
import { restartWith } from '../../runtime/process/config.ts';
import type { Config } from '../../runtime/process/config.ts';
import { createInterface } from 'node:readline/promises';
import { KAFKA, readSettings, REGISTRY } from '../config.ts';
import { jsonOf, kafkaOf, LOG, note, print } from '../connections.ts';
import { LedgerLog } from '../deposit/ledger-log.ts';
import { decision, Misuse, type Decision as Given, type SharedArguments } from '../usage.ts';
import { readOperatorKey, type KeyArguments, type OperatorKey } from './operator-key.ts';

export type DecisionRefusal =
  HumanRefusal | RefundRefusal | GovernanceRefusal | 'no_key' | 'not_an_operator' | 'broken_rule';

export const REFUSALS: Readonly<Record<DecisionRefusal, string>> = {
  no_such_deposit: 'there is no such deposit',
  not_waiting_for_a_person: 'it does not wait for a person (`ops deposit show` tells its status)',
  no_mint_in_flight: 'it has no mint in flight (`ops deposit show` tells its status)',
  rejected_for_good: 'it was rejected, which is for good',
  nothing_to_mint: 'the fee took all of it: there is nothing to mint',
  over_rolling_cap:
    'its credit is above the rolling cap itself: raise that first (`ops policy set --rolling-cap`; without operators APP_ROLLING_CAP of the treasury)',
  not_rejected: 'only a rejected deposit is paid back: reject it first',
  refunded_before: 'another amount was recorded as paid back (`ops deposit show` tells it)',
  not_within_gross: 'a refund is above 0, and at most the amount that arrived',
  no_operators: `no operators are in force, so nobody can sign: ${restartWith('treasury', 'APP_OPERATORS=ADDRESSES')}`,
  not_begun: 'the treasury has to put its settings in force first: start it',
  contradicting_limits:
    'the limits contradict each other: none is below 0, the minimum is at most the single cap, and that at most the rolling cap',
  contract_as_custody:
    'an address is that of the USDT contract itself, whose balance is no money of ours',
  not_the_next_version: 'another decision of this kind came first: look at it and decide again',
  too_few_operators: 'one operator is needed, and two where an amount asks for two',
  repeated_address: 'an address is named twice',
  negative_amount: 'an amount is below 0',
  mint_in_flight:
    'a mint is in flight, and only transactions of the present authority conclude it: try again once `ops deposit list --status mint_requested` shows none; if there is always one, lower the rolling cap until there is none (`ops policy set --rolling-cap`); `ops mint void` or `ops deposit release` gives up one that no block ever takes',
  baseline_is_pinned: 'a baseline is pinned already, which is for good',
  minted_before: 'this ledger has requested mints already: its baseline is the beginning',
  liability_above_supply: 'the liability is at most the supply',
  nothing_minted: 'it has minted nothing',
  acknowledged_before: 'it was acknowledged before',
  mint_of_a_deposit: 'it is the mint of a deposit, which needs no acknowledgement',
  nothing_to_book: 'the amount is 0',
  more_than_was_booked: 'less than that was booked before, so it cannot be taken back',
  no_key:
    'operators are in force, so a decision needs a signature: give --key-file, or set APP_OPERATOR_KEY',
  no_mint_to_void:
    'the ledger shows no mint of it as requested or credited (`ops deposit show` tells its status)',
  refund_used: 'another deposit was paid back with this transaction',
  pinned_before: 'the ledger is pinned already',
  other_network: 'the network of a ledger never changes',
  other_authority: 'the ledger has another mint authority',
  other_token: 'the token of a ledger never changes',
  stopped_before: 'minting is stopped already',
  open_before: 'minting is open already',
  broken_rule:
    'it breaks a rule of its fields, so it would have no effect: the values are out of range',
  not_an_operator: 'the key is of nobody among the operators in force (`ops operators show`)',
};

export interface DecisionArguments extends SharedArguments, KeyArguments, Given {
  readonly yes?: boolean | undefined;
}

export type Decide = (ledger: Ledger, person: Person) => Decision<DecisionRefusal, HumanDecision>;

/**
 * The result in words: `subject` is, or was before, `done`; and the state after it. A function is
 * asked for the subject once all is decided.
 */
export interface Words {
  readonly subject: string | (() => string);
  readonly done: string;
  readonly state: (ledger: Ledger) => { readonly json: object; readonly text: string };
  /** lines about the effect, for a person on a terminal, who is asked; none: nothing is asked */
  readonly preview?: (ledger: Ledger) => readonly string[];
  /** the command with which another operator decides the same; none: the one that was given */
  readonly repeated?: string;
  /** what the person does next, once it is done */
  readonly next?: (ledger: Ledger) => string;
}

/** Decides, signs, appends and prints. The exit code: 1 when refused. */
export async function decide(
  args: DecisionArguments,
  decider: Decide,
  { subject: subjectOf, done, state, next, preview, repeated }: Words,
): Promise<number> {
  const person = decision(args);
  const key = await readOperatorKey(args);
  const log = await openLedgerLog(args);
  if (preview !== undefined && args.yes !== true && isTerminal()) {
    await log.catchUp();
    await confirm(preview(log.ledger));
  }
  let proposal: HumanDecision | undefined;
  const decided = await log.decide((ledger) => {
    const made = decider(ledger, { ...person, operator: key?.address, now: Date.now() });
    proposal = 'events' in made ? made.events[0] : undefined;
    return signed(ledger, made, key);
  });
  if ('refused' in decided)
    throw new Misuse(`refused: ${REFUSALS[decided.refused]}`, decided.refused);
  const { appended } = decided;
  const subject = typeof subjectOf === 'string' ? subjectOf : subjectOf();
  const { json, text } = state(log.ledger);
  const isProposed = proposal !== undefined && isPending(log.ledger, proposal, key);
  if (args.json === true)
    print(jsonOf({ ...json, appended: appended ?? null, proposed: isProposed }));
  else if (isProposed) print(proposedText(subject, done, appended, repeated));
  else if (appended === undefined) print(`${subject} was ${done} before: nothing to do; ${text}`);
  else {
    const { topic, partition, offset } = appended;
    print(`${subject} is ${done}: ${topic}/${partition}@${offset}; ${text}`);
    if (next !== undefined) note(`next: ${next(log.ledger)}`, args);
  }
  return 0;
}

function isTerminal(): boolean {
  return process.stdin.isTTY && process.stderr.isTTY;
}

/** Shows the effect, and throws `Misuse` unless the person says yes. */
async function confirm(effect: readonly string[]): Promise<void> {
  if (effect.length === 0) return;
  for (const line of effect) note(line);
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  const stopped = new AbortController();
  for (const end of ['SIGINT', 'close'] as const) lines.once(end, () => stopped.abort());
  const { signal } = stopped;
  const answer = await lines.question('do it? (yes or no) ', { signal }).catch(() => 'no');
  lines.close();
  if (!/^y(?:es)?$/i.test(answer.trim()))
    throw new Misuse('not confirmed: nothing was done', 'not_confirmed');
}

/** The ledger of these arguments, not read yet. */
export function openLedgerLog({ stack }: SharedArguments): Promise<LedgerLog> {
  return openLedgerLogAt(readSettings({ ...KAFKA, ...REGISTRY }, stack));
}

/** The ledger of these servers, not read yet. Throws a fault with retry while they are away. */
export async function openLedgerLogAt(
  config: Config<typeof KAFKA & typeof REGISTRY>,
): Promise<LedgerLog> {
  const kafka = kafkaOf(config);
  const codec = await openCodec(config, { kafka, log: LOG }, [TREASURY_LEDGER]);
  return new LedgerLog({ kafka, codec, log: LOG });
}

/** Whether the decision waits for another operator, since this one has made it. */
function isPending(
  { governance }: Ledger,
  decided: HumanDecision,
  key: OperatorKey | undefined,
): boolean {
  return key !== undefined && governance.isProposed(decided, key.address);
}

function proposedText(
  subject: string,
  done: string,
  at: LogPosition | undefined,
  repeated?: string,
): string {
  const where = at === undefined ? 'before' : `${at.topic}/${at.partition}@${at.offset}`;
  const command = repeated === undefined ? 'the same command' : `\`${repeated}\``;
  return `${subject} is not ${done} yet: one of two operators has decided it (${where}). What to do: another operator decides just the same with ${command} and a key of their own`;
}

/**
 * Without operators in force decisions count without signatures. No events where this operator has
 * proposed the same before, and another one has to decide it.
 */
export function signed(
  { governance }: Ledger,
  decided: Decision<DecisionRefusal, HumanDecision>,
  key: OperatorKey | undefined,
): Decision<DecisionRefusal, HumanDecision> {
  if ('refused' in decided) return decided;
  if (decided.events.some((event) => brokenRule(LEDGER_RULES, event) !== undefined))
    return { refused: 'broken_rule' };
  if (decided.events.length === 0 || governance.operators === undefined) return decided;
  if (key === undefined) return { refused: 'no_key' };
  if (decided.events.every((event) => governance.isProposed(event, key.address)))
    return { events: [] };
  const events = decided.events.map((event) => ({
    ...event,
    signature: key.sign(event, governance.ledger_id),
  }));
  return events.some((event) => signatureRefusal(event, governance) !== undefined)
    ? { refused: 'not_an_operator' }
    : { events };
}
