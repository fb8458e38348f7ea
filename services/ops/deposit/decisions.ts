/**
 * `ops deposit approve`, `reject`, `release` and `refund`. A decision is an event, hence part of
 * the audit.
 */
import {
  decideTogether,
  recordRefund,
  release,
  type DecidedTogether,
  type LeftOut,
  type Person,
  type Verb,
} from '../../../projections/deposits/domain/approval.ts';
import type { Deposit, Terms } from '../../../projections/deposits/domain/deposit.ts';
import type { Ledger } from '../../../projections/deposits/domain/ledger.ts';
import { parseHash, toHex } from '../../../schemas/address.ts';
import { transfersIn } from '../../../schemas/trongrid.ts';
import { DECIDED_MAX, type RefundRecorded } from '../../../schemas/treasury.ledger/events.ts';
import { Fault } from '../../runtime/process/errors.ts';
import { TRONGRID_SETTINGS } from '../../runtime/trongrid/settings.ts';
import { openTronGrid } from '../../runtime/trongrid/open.ts';
import { POSTGRES_READER, readSettings } from '../config.ts';
import { jsonOf, note, print, withReader } from '../connections.ts';
import { decide, REFUSALS, type DecisionArguments } from '../governance/decide.ts';
import { money, table } from '../text.ts';
import { Misuse, usd, type SharedArguments } from '../usage.ts';
import {
  filterOf,
  isFiltered,
  readDeposits,
  readId,
  shortened,
  type FilterArguments,
  type Filtered,
  type IdArguments,
  type Listed,
} from './deposits.ts';

/** Timeout of the question to TRON about a refund, with its repetitions. */
const ASKING_MS = 20_000;

/** The effect of a decision on the deposits of these amounts. */
export const EFFECTS = {
  approve: ({ credit }: Amounts, to = 'their owners') => `mint ${money(credit)} CLT to ${to}`,
  reject: ({ gross }: Amounts) => `mint nothing for good; ${money(gross)} USDT stay in the reserve`,
} as const;

type Amounts = Pick<Terms, 'gross' | 'credit'>;

export function releaseDeposit(args: IdArguments & DecisionArguments): Promise<number> {
  const deposit_id = readId(args.id);
  return decide(args, (ledger, person) => release(ledger, { deposit_id, ...person }), {
    subject: deposit_id,
    done: 'released',
    preview: (ledger) =>
      previewOf(
        ledger,
        deposit_id,
        ({ credit }) => `give up the mint of ${money(credit)} CLT for good`,
      ),
    state: (ledger) => stateOf(ledger, deposit_id),
  });
}

interface ManyArguments extends DecisionArguments, FilterArguments {
  readonly ids: readonly string[];
}

/** One decision and one signature, of the deposits that are named, or that pass the filters. */
export async function decideDeposits(verb: Verb, args: ManyArguments): Promise<number> {
  if (args.ids.length > 0 && isFiltered(args))
    throw new Misuse(
      'ids and filters are given: give one of them, so that it is clear who is meant',
    );
  const named = new Set(args.ids.map(readId));
  const [first = '', ...others] = named;
  if (!isFiltered(args) && others.length === 0) return decideOne(verb, first, args);
  const isWanted = filterOf(args);
  const found = isFiltered(args) ? await foundDeposits(args, isWanted) : [];
  const ids = isFiltered(args) ? found.map(({ id }) => id) : [...named];
  if (ids.length === 0) {
    print(
      args.json === true
        ? jsonOf({ deposits: [], left_out: [], appended: null, proposed: false })
        : 'no deposit that waits for a person is as asked for: nothing to do',
    );
    return 0;
  }
  let left_out: DecidedTogether['left_out'] = new Map();
  const decideAll = (ledger: Ledger, person: Person): DecidedTogether => {
    for (const id of named)
      if (ledger.deposit(id).status === 'absent')
        throw new Misuse(`there is no deposit ${id}: nothing was done`, 'no_such_deposit');
    // the ledger has the last word on who is meant: it is what is signed
    for (const row of found) if (!isWanted(asInLedger(row, ledger))) throw contradicted(row.id);
    const decided = decideTogether(verb, ledger, { deposit_ids: ids, ...person });
    ({ left_out } = decided);
    return decided;
  };
  return decide(args, decideAll, {
    subject: () => {
      // none where all were decided before
      const decided = ids.length - left_out.size || ids.length;
      return `the decision of ${decided} deposit${decided === 1 ? '' : 's'}`;
    },
    done: 'recorded',
    preview: (ledger) => {
      // nobody signs it
      decideAll(ledger, { actor: '', reason: '', now: 0 });
      return manyText(verb, ledger, ids, left_out);
    },
    state: (ledger) => statesOf(ledger, ids, left_out),
  });
}

function decideOne(verb: Verb, deposit_id: string, args: DecisionArguments): Promise<number> {
  const deposit_ids = [deposit_id];
  return decide(
    args,
    (ledger, person) => decideTogether(verb, ledger, { deposit_ids, ...person }),
    {
      subject: deposit_id,
      done: verb === 'approve' ? 'approved' : 'rejected',
      preview: (ledger) =>
        previewOf(ledger, deposit_id, (terms) => EFFECTS[verb](terms, toHex(terms.clt_address))),
      state: (ledger) => stateOf(ledger, deposit_id),
    },
  );
}

/** The deposits that wait for a person and pass the filters, the oldest first. */
async function foundDeposits(
  args: ManyArguments,
  isWanted: (deposit: Filtered) => boolean,
): Promise<readonly Listed[]> {
  const { deposits, has_more } = await withReader(
    readSettings(POSTGRES_READER, args.stack),
    (reader) => readDeposits(reader, { status: 'needs_manual', limit: DECIDED_MAX, isWanted }),
  );
  if (has_more)
    note(
      `more than ${DECIDED_MAX} deposits pass the filters: this decides the newest ${DECIDED_MAX}; give the same command again for the rest`,
      args,
    );
  return deposits.toReversed();
}

/**
 * The time of the transfer is not in the ledger. A deposit that no longer waits keeps the reason of
 * its row.
 */
function asInLedger(row: Listed, ledger: Ledger): Filtered {
  const deposit = ledger.deposit(row.id);
  if (deposit.status === 'absent') throw contradicted(row.id);
  const { clt_address: cltAddress, gross } = deposit.terms;
  const reason = deposit.status === 'needs_manual' ? deposit.reason : row.reason;
  return { ...row, clt_address: toHex(cltAddress), amount_usdt: String(gross), reason };
}

function contradicted(id: string): Misuse {
  return new Misuse(
    `the ledger does not know ${id} as the list shows it: nothing was done. Give the command again in a minute; if it is refused again, run \`ops audit\` and \`ops verify deposits\``,
    'contradicted',
  );
}

export async function refundDeposit(
  args: IdArguments & DecisionArguments & { readonly 'tron-tx': string; readonly amount: string },
): Promise<number> {
  const deposit_id = readId(args.id);
  const tron_tx_id = parseHash(args['tron-tx']);
  if (tron_tx_id === undefined)
    throw new Misuse('--tron-tx is the id of a transaction on TRON: 64 hex digits');
  const amount = usd('--amount', args.amount);
  const isShown = await isRefundShown(args, { tron_tx_id, amount });
  return decide(
    args,
    (ledger, person) => recordRefund(ledger, { deposit_id, tron_tx_id, amount, ...person }),
    {
      subject: `a refund of ${money(amount)} USDT for ${deposit_id}`,
      done: isShown ? 'recorded' : 'recorded as unproven, since TRON does not show it yet,',
      preview: (ledger) =>
        previewOf(
          ledger,
          deposit_id,
          () => `record ${money(amount)} USDT as paid back, in ${tron_tx_id.toString('hex')}`,
        ),
      state: (ledger) => stateOf(ledger, deposit_id),
    },
  );
}

/**
 * Whether TRON shows a transaction that pays as much; false while TRON does not know it, or does
 * not answer. Throws `Misuse` for one that pays less.
 */
async function isRefundShown(
  { stack }: SharedArguments,
  { tron_tx_id, amount }: Pick<RefundRecorded, 'tron_tx_id' | 'amount'>,
): Promise<boolean> {
  const settings = readSettings(TRONGRID_SETTINGS, stack);
  const rates = { requests_per_second: 1, requests_per_day: 0 };
  const { provider } = openTronGrid(settings, rates, {
    signal: AbortSignal.timeout(ASKING_MS),
    onRequest() {},
  });
  const receipt = await provider.receipt(tron_tx_id).catch((error: unknown) => {
    if (error instanceof Fault) return undefined;
    throw error;
  });
  if (receipt === undefined) return false;
  const read = transfersIn(receipt, settings.usdt_contract);
  const paid = 'problem' in read ? 0n : read.value.reduce((sum, { value }) => sum + value, 0n);
  if (paid >= amount) return true;
  throw new Misuse(
    `TRON shows that this transaction moved ${money(paid)} USDT, not ${money(amount)}: look at its id`,
    'refund_contradicted',
  );
}

/** Deposits that a preview shows, those of most money first. */
const SHOWN_MAX = 20;

/** No lines where no deposit changes: then nothing is asked. */
function manyText(
  verb: Verb,
  ledger: Ledger,
  ids: readonly string[],
  left_out: DecidedTogether['left_out'],
): readonly string[] {
  const decided = ids.flatMap((id) => {
    const deposit = ledger.deposit(id);
    return left_out.has(id) || deposit.status !== 'needs_manual' ? [] : [{ id, ...deposit }];
  });
  if (decided.length === 0) return [];
  const sums = { gross: 0n, credit: 0n };
  for (const { terms } of decided) {
    sums.gross += terms.gross;
    sums.credit += terms.credit;
  }
  const rows = decided
    .toSorted((one, other) => (one.terms.gross < other.terms.gross ? 1 : -1))
    .slice(0, SHOWN_MAX)
    .map(({ id, terms: { gross, credit, clt_address: cltAddress }, reason }) => {
      return [id, money(gross), money(credit), shortened(toHex(cltAddress)), reason];
    });
  const more = decided.length - rows.length;
  return [
    table(['DEPOSIT', 'ARRIVED USDT', 'CREDIT CLT', 'ACCOUNT', 'REASON'], rows),
    ...(more === 0 ? [] : [`and ${more} of no more than the last of these`]),
    ...leftOutLines(left_out),
    `amounts  ${decided.length} deposits: arrived ${money(sums.gross)} USDT, credit ${money(sums.credit)} CLT`,
    `effect   ${EFFECTS[verb](sums)}`,
  ];
}

function leftOutLines(left_out: DecidedTogether['left_out']): readonly string[] {
  return [...left_out].map(([id, reason]) => `left out ${id}: ${whyLeftOut(reason)}`);
}

export function whyLeftOut(reason: LeftOut): string {
  return reason === 'decided_before' ? 'it was decided so before' : REFUSALS[reason];
}

function statesOf(
  ledger: Ledger,
  ids: readonly string[],
  left_out: DecidedTogether['left_out'],
): { readonly json: object; readonly text: string } {
  const decided = ids.filter((id) => !left_out.has(id));
  const deposits = decided.map((id) => ledger.deposit(id));
  const groups = Map.groupBy(deposits, (deposit) => predicate(deposit, true));
  const states = [...groups].map(([ofMany, group], index) => {
    const [first, ...others] = group;
    const isOne = first !== undefined && others.length === 0;
    const noun = index > 0 ? '' : isOne ? ' deposit' : ' deposits';
    return `${group.length}${noun} ${isOne ? predicate(first, false) : ofMany}`;
  });
  return {
    json: {
      deposits: decided.map((id) => stateOf(ledger, id).json),
      left_out: [...left_out].map(([deposit_id, reason]) => ({ deposit_id, reason })),
    },
    text: [states.join('; ') || 'it changes none', ...leftOutLines(left_out)].join('\n'),
  };
}

/** Empty where there is no such deposit, which is refused. */
function previewOf(
  ledger: Ledger,
  deposit_id: string,
  effect: (terms: Terms) => string,
): readonly string[] {
  const deposit = ledger.deposit(deposit_id);
  if (deposit.status === 'absent') return [];
  const { gross, fee, credit, clt_address } = deposit.terms;
  return [
    `deposit  ${deposit_id}, ${deposit.status}`,
    `amounts  arrived ${money(gross)} USDT, fee ${money(fee)} USDT, credit ${money(credit)} CLT`,
    `owner    ${toHex(clt_address)}`,
    `effect   ${effect(deposit.terms)}`,
  ];
}

function stateOf(
  ledger: Ledger,
  deposit_id: string,
): { readonly json: object; readonly text: string } {
  const deposit = ledger.deposit(deposit_id);
  const { status } = deposit;
  return { json: { deposit_id, status }, text: `it ${predicate(deposit, false)}` };
}

/** The rest of a sentence that begins with one deposit, or with many in this state. */
function predicate(deposit: Deposit, isMany: boolean): string {
  const { status } = deposit;
  if (status === 'needs_manual' && deposit.rejected)
    return `${isMany ? 'stay' : 'stays'} ${status} for good`;
  const is = `${isMany ? 'are' : 'is'} ${status}`;
  if (status !== 'needs_manual' || deposit.approved_by.length === 0) return is;
  const credits = isMany ? 'their credits need' : 'its credit needs';
  return `${is}, since ${credits} another operator's approval too`;
}
