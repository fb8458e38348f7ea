/** `ops operators show` and `ops policy show`: what is in force at the end of the ledger. */
import type { Ledger } from '../../../projections/deposits/domain/ledger.ts';
import { toHex } from '../../../schemas/address.ts';
import { toTronAddress } from '../../../schemas/tron-address.ts';
import type { BaselinePinned } from '../../../schemas/treasury.ledger/events.ts';
import { jsonOf, print } from '../connections.ts';
import { money } from '../text.ts';
import type { SharedArguments } from '../usage.ts';
import { openLedgerLog } from './decide.ts';

export async function showGovernance({ json, stack }: SharedArguments): Promise<number> {
  const log = await openLedgerLog({ json, stack });
  await log.catchUp();
  const inForce = governanceOf(log.ledger);
  const lines = Object.entries(inForce.texts).map(([label, text]) => `${label.padEnd(13)}${text}`);
  print(json === true ? jsonOf(inForce.json) : lines.join('\n'));
  return 0;
}

export async function showPolicy({ json, stack }: SharedArguments): Promise<number> {
  const log = await openLedgerLog({ json, stack });
  await log.catchUp();
  const inForce = policyOf(log.ledger);
  print(json === true ? jsonOf(inForce.json) : inForce.text);
  return 0;
}

/** As JSON with amounts in micro-USDT, and as texts with amounts in USDT. */
export function governanceOf({ governance, broken: { length: broken } }: Ledger) {
  const ledger_id = governance.ledger_id === undefined ? null : toHex(governance.ledger_id);
  const proposals = governance.proposals.map(({ operator }) => toHex(operator));
  const { operators: set, custody, authority, baseline, acknowledged, refused } = governance;
  const operators = set?.operators.map(toHex) ?? [];
  const two_above = set?.two_above ?? 0n;
  const custody_addresses = custody?.custody_addresses.map(toTronAddress) ?? [];
  const usdt_contract = custody === undefined ? null : toTronAddress(custody.usdt_contract);
  const mints = [...acknowledged.values()];
  const sum = mints.reduce((total, { amount }) => total + amount, 0n);
  const json = {
    operators,
    two_above,
    custody_addresses,
    usdt_contract,
    authority: authority === undefined ? null : toHex(authority.authority),
    baseline: baseline === undefined ? null : baselineOf(baseline),
    acknowledged_mints: mints.length,
    acknowledged: sum,
    booked_surplus: governance.booked_surplus,
    refused,
    broken,
    minting: governance.is_stopped ? 'stopped' : 'open',
    ledger_id,
    /** operators whose decision waits for another one's */
    proposed_by: proposals,
  };
  // before the ledger is pinned one operator decides what loosens
  const loosens = ledger_id === null ? '' : ', and decide what loosens';
  const two =
    two_above === 0n
      ? 'one approves any credit, and decides what loosens'
      : `two approve a credit above ${money(two_above)} USDT${loosens}`;
  const token = usdt_contract === null ? '' : ` of the token ${usdt_contract}`;
  const texts = {
    operators: operators.length === 0 ? 'none' : `${operators.join(', ')} (${two})`,
    custody: `${custody_addresses.join(', ') || 'none'}${token}`,
    authority: json.authority ?? 'none',
    baseline:
      baseline === undefined
        ? 'none'
        : `block ${baseline.block_height}, supply ${money(baseline.supply)} CLT, liability ${money(baseline.liability)} USDT`,
    acknowledged: `Mints: ${mints.length}, together ${money(sum)} CLT`,
    surplus: `${money(governance.booked_surplus)} USDT booked`,
    minting: governance.is_stopped ? 'stopped by operators (`ops mint start` opens it)' : 'open',
    ledger: ledger_id ?? 'not pinned yet: the treasury does it at its start',
    proposed:
      proposals.length === 0
        ? 'nothing waits for a second operator'
        : `waiting for a second operator: a decision of each of ${proposals.join(', ')}`,
    'no effect': `${refused.unsigned} unsigned decisions, ${refused.foreign_signature} of strangers, ${broken} records that break a rule of their fields`,
  };
  return { json, texts };
}

function baselineOf({ block_height, block_hash, supply, liability }: BaselinePinned) {
  return { block_height, block_hash: toHex(block_hash), supply, liability };
}

export function policyOf({ policy }: Ledger): { readonly json: object; readonly text: string } {
  if (policy === undefined) return { json: { version: 0 }, text: 'no limits are in force' };
  const { version, network, first_fee, later_fee, minimum, single_cap, rolling_cap } = policy;
  const limits = { first_fee, later_fee, minimum, single_cap, rolling_cap };
  const named = Object.entries(limits).map(
    ([name, amount]) => `${name.replace('_', '-')} ${money(amount)}`,
  );
  return {
    json: { version, network, ...limits },
    text: `policy ${version} of ${network}, in USDT: ${named.join(', ')}`,
  };
}
