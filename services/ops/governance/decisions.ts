/** The decisions about who decides, and about money outside of deposits, a command each. */
import {
  acknowledgeMint,
  bookSurplus,
  changePolicy,
  pinBaseline,
  pinCustody,
  rotateAuthority,
  setMinting,
  setOperators,
} from '../../../projections/deposits/domain/governing.ts';
import { voidMint } from '../../../projections/deposits/domain/approval.ts';
import type { Ledger } from '../../../projections/deposits/domain/ledger.ts';
import { ChainSupply, type FinalSupply } from '../../../projections/reserve/supply.ts';
import { parseAddress, parseHash, toHex } from '../../../schemas/address.ts';
import { isChainEvent } from '../../../schemas/chain.blocks/events.ts';
import { BrokenChain } from '../../../schemas/hash-chain.ts';
import { parseDepositId } from '../../../schemas/deposit-id.ts';
import { CHAIN_BLOCKS } from '../../../schemas/topics.ts';
import { parseTronAddress } from '../../../schemas/tron-address.ts';
import { openDecoder, undecodable } from '../../runtime/kafka/codec.ts';
import { readLogEnds } from '../../runtime/kafka/ends.ts';
import { readLogEvents } from '../../runtime/kafka/log-events.ts';
import { restartWith } from '../../runtime/process/config.ts';
import { KAFKA, readSettings, REGISTRY } from '../config.ts';
import { kafkaOf, note } from '../connections.ts';
import { money } from '../text.ts';
import { Misuse, usd, type SharedArguments } from '../usage.ts';
import { decide, type DecisionArguments } from './decide.ts';
import { governanceOf, policyOf } from './in-force.ts';

interface AddressesArguments extends DecisionArguments {
  readonly addresses: readonly string[];
}

export function operatorsSet(
  args: AddressesArguments & { readonly 'two-above': string | undefined },
): Promise<number> {
  const operators = args.addresses.map((given) => cltAddress(given));
  const above = args['two-above'];
  const given = above === undefined ? undefined : usd('--two-above', above);
  return decide(
    args,
    (ledger, person) => {
      const two_above = given ?? ledger.governance.operators?.two_above ?? 0n;
      return setOperators(ledger, { operators, two_above }, person);
    },
    {
      subject: 'the list of operators',
      done: 'set',
      state: inForce('operators'),
      next: (ledger) => {
        const { operators: set, two_above } = governanceOf(ledger).json;
        return `${restartWith('treasury', `APP_OPERATORS=${set.join(',')}`, `APP_TWO_OPERATORS_ABOVE=${two_above}`)}; until then nothing is minted`;
      },
    },
  );
}

export function custodySet(args: AddressesArguments): Promise<number> {
  const given = { custody_addresses: args.addresses.map((each) => tronAddress(each)) };
  return decide(args, (ledger, person) => pinCustody(ledger, given, person), {
    subject: 'custody',
    done: 'pinned',
    state: inForce('custody'),
    next: (ledger) => {
      const { custody_addresses } = governanceOf(ledger).json;
      return `${restartWith('treasury', `APP_CUSTODY_ADDRESSES=${custody_addresses.join(',')}`)}; until then it makes no reserve run and mints nothing`;
    },
  });
}

export function authorityRotate(
  args: DecisionArguments & { readonly address: string },
): Promise<number> {
  const authority = cltAddress(args.address);
  return decide(args, (ledger, person) => rotateAuthority(ledger, authority, person), {
    subject: 'the mint authority',
    done: 'rotated',
    state: inForce('authority'),
    next: () =>
      `have the chain accept the new authority, then ${restartWith('treasury', 'APP_MINT_KEY=KEY')}; until then nothing is minted`,
  });
}

/**
 * The newest final block of the log becomes the baseline, or the one at `--height`, which was the
 * newest final one once: so two operators can name the same block.
 */
export async function baselinePin(
  args: DecisionArguments & { readonly liability: string; readonly height: string | undefined },
): Promise<number> {
  const liability = usd('--liability', args.liability);
  const height = args.height === undefined ? undefined : blockHeight('--height', args.height);
  let pinned: FinalSupply | undefined;
  const { final } = await readFinalChain(args, (each) => {
    if (height === undefined || each.height === height) pinned = each;
  });
  if (final === undefined) throw new Misuse('no block of chain.blocks is final yet');
  if (pinned === undefined)
    throw new Misuse(
      `block ${height} was never the newest final block of chain.blocks; now it is ${final.height}. What to do: give a height up to that at which blocks became final, as \`ops tail chain.blocks --type BlocksFinalized\` shows them, or no --height for the newest`,
    );
  const { height: block_height, hash: block_hash, supply } = pinned;
  const baseline = { block_height, block_hash, supply, liability };
  return decide(args, (ledger, person) => pinBaseline(ledger, baseline, person), {
    subject: `block ${block_height} with a supply of ${money(supply)}`,
    done: 'pinned as the baseline',
    state: inForce('baseline'),
    repeated: `ops baseline pin --height ${block_height} --liability ${args.liability}`,
  });
}

/** Amount, account and block are read from the chain's log. */
export async function mintAcknowledge(
  args: DecisionArguments & { readonly hash: string },
): Promise<number> {
  const tx_hash = parseHash(args.hash);
  if (tx_hash === undefined)
    throw new Misuse(`"${args.hash}" is no hash of a transaction: 0x and 64 hex digits`);
  const [mint, ...more] = (await readFinalChain(args)).mintsOf(tx_hash);
  if (mint === undefined || more.length > 0)
    throw new Misuse(`no Mint in a final block of chain.blocks has the hash ${toHex(tx_hash)}`);
  const { to, amount, height: block_height } = mint;
  const facts = { tx_hash, to, amount, block_height };
  return decide(args, (ledger, person) => acknowledgeMint(ledger, facts, person), {
    subject: `the Mint of ${money(amount)} to ${toHex(to)} in block ${block_height}`,
    done: 'acknowledged',
    state: inForce('acknowledged'),
  });
}

/** `open`: as before the stop; otherwise nothing is minted until it is opened again. */
export function mintingSet(args: DecisionArguments, open: boolean): Promise<number> {
  return decide(args, (ledger, person) => setMinting(ledger, open, person), {
    subject: 'minting',
    done: open ? 'open' : 'stopped',
    state: inForce('minting'),
  });
}

/** The newest mint of the deposit, requested or credited, is void. */
export function mintVoid(args: DecisionArguments & { readonly id: string }): Promise<number> {
  const deposit_id = parseDepositId(args.id);
  if (deposit_id === undefined)
    throw new Misuse(`"${args.id}" is no id of a deposit: \`ops deposit show\` shows the whole`);
  return decide(args, (ledger, person) => voidMint(ledger, { deposit_id, ...person }), {
    subject: `the mint of ${deposit_id}`,
    done: 'voided',
    state: (ledger) => {
      const { status } = ledger.deposit(deposit_id);
      return { json: { deposit_id, status }, text: `the deposit is ${status}` };
    },
  });
}

export function surplusBook(
  args: DecisionArguments & { readonly amount: string },
): Promise<number> {
  const amount = usd('the amount', args.amount);
  return decide(args, (ledger, person) => bookSurplus(ledger, amount, person), {
    subject: `a surplus of ${money(amount)}`,
    done: 'booked',
    state: inForce('surplus'),
  });
}

type LimitArguments = Readonly<
  Record<'first-fee' | 'later-fee' | 'minimum' | 'single-cap' | 'rolling-cap', string | undefined>
>;

export function policySet(args: DecisionArguments & LimitArguments): Promise<number> {
  const given = {
    first_fee: args['first-fee'],
    later_fee: args['later-fee'],
    minimum: args.minimum,
    single_cap: args['single-cap'],
    rolling_cap: args['rolling-cap'],
  };
  const limits = Object.entries(given).flatMap(([limit, text]) =>
    text === undefined ? [] : [[limit, usd(`--${limit.replace('_', '-')}`, text)] as const],
  );
  if (limits.length === 0) throw new Misuse('no limit is given: --help shows them');
  const changed = Object.fromEntries(limits);
  return decide(args, (ledger, person) => changePolicy(ledger, changed, person), {
    subject: 'the policy',
    done: 'set',
    state: policyOf,
  });
}

function inForce(
  name: keyof ReturnType<typeof governanceOf>['texts'],
): (ledger: Ledger) => { readonly json: object; readonly text: string } {
  return (ledger) => {
    const { json, texts } = governanceOf(ledger);
    return { json, text: `in force: ${texts[name]}` };
  };
}

/** `onFinal` gets every final block. */
async function readFinalChain(
  args: SharedArguments,
  onFinal: (final: FinalSupply) => void = () => {},
): Promise<ChainSupply> {
  const config = readSettings({ ...KAFKA, ...REGISTRY }, args.stack);
  const kafka = kafkaOf(config);
  const codec = await openDecoder(config, { kafka }, [CHAIN_BLOCKS]);
  const chain = new ChainSupply(onFinal);
  const { high: to } = await readLogEnds(kafka, CHAIN_BLOCKS.name, 0);
  note(`reading the ${to} records of ${CHAIN_BLOCKS.name}`, args);
  const range = { topic: CHAIN_BLOCKS.name, partition: 0, from: 0n, to };
  await readLogEvents({ kafka, codec }, range, (event, { offset }) => {
    if (!isChainEvent(event))
      throw undecodable(`${event.type} at offset ${offset} is no event of the chain`);
    const verdict = chain.apply(event, offset);
    if (typeof verdict === 'object') throw new BrokenChain(offset, verdict.broken);
  });
  return chain;
}

function blockHeight(option: string, text: string): number {
  if (!/^(?:0|[1-9][0-9]{0,14})$/.test(text))
    throw new Misuse(`${option} is the height of a block, a whole number, not "${text}"`);
  return Number(text);
}

function cltAddress(text: string): Buffer {
  const address = parseAddress(text);
  if (address === undefined) throw new Misuse(`"${text}" is no address: 0x and 40 hex digits`);
  return address;
}

function tronAddress(text: string): Buffer {
  const address = parseTronAddress(text);
  if (address === undefined) throw new Misuse(`"${text}" is no address of TRON in base58`);
  return address;
}
