/**
 * Seeded logs of the three topics of deposits, with all irregularities: repetitions, batches that
 * came second, records in wrong partitions, transfers that are no deposits, invalid decisions.
 * `treasury.ledger` is decided by the code under test, or invented where a function says so;
 * `plain-deposits.ts` computes the expected result.
 */
import { HDNodeWallet } from 'ethers';
import { Ledger } from '../../projections/deposits/domain/ledger.ts';
import { readDepositKey, type DepositKey } from '../../schemas/deposit-address.ts';
import { HOLD_REASONS, NETWORK_LIMITS } from '../../schemas/deposit-policy.ts';
import { transferPartition } from '../../schemas/tron-partition.ts';
import type { DepositAddressEvent } from '../../schemas/deposit.addresses/events.ts';
import {
  transferKey,
  type TransferEvent,
  type TransferObserved,
} from '../../schemas/tron.transfers/events.ts';
import type {
  DepositConfirmed,
  DepositsDecided,
  PolicySet,
  TreasuryEvent,
} from '../../schemas/treasury.ledger/events.ts';
import { confirmedEvent, depositEvents, placed } from './deposit-events.ts';
import { addressOf, alice, authority, BY, operatorsSet, signed } from './operators.ts';
import { Random } from './random.ts';

export const PARTITIONS = 6;
export const USDT_CONTRACT = Buffer.from('eca9bc828a3005b9a3b909f2cc5c2a54794de05f', 'hex');
export const CUSTODY = Buffer.alloc(20, 0xc5);
export const BEGIN = 1_790_000_000_000;

const PHRASE = 'test test test test test test test test test test test junk';

export const XPUB = HDNodeWallet.fromPhrase(PHRASE, undefined, "m/44'/195'/0'/0").neuter()
  .extendedKey;
/** Another account of the same wallet. */
export const OTHER_XPUB = HDNodeWallet.fromPhrase(PHRASE, undefined, "m/44'/195'/1'/0").neuter()
  .extendedKey;

export function depositKey(): DepositKey {
  const read = readDepositKey(XPUB);
  if ('problem' in read) throw new Error(read.problem);
  return read.key;
}

/** Account number `index` of the test world. */
export function accountAt(index: number): Buffer {
  const account = Buffer.alloc(20, 0xac);
  account.writeUInt32BE(index, 16);
  return account;
}

/** `deposit.addresses` with the key and a request of each of the first accounts, and no places. */
export function requestedAddresses(accounts: number): readonly DepositAddressEvent[] {
  return [
    { type: 'SchemePinned', scheme: 'hd', extended_public_key: XPUB, pinned_at: BEGIN },
    ...Array.from({ length: accounts }, (_, index): DepositAddressEvent => ({
      type: 'AddressRequested',
      clt_address: accountAt(index),
      requested_at: BEGIN,
    })),
  ];
}

/** A ledger whose first accounts have their addresses. */
export function openLedger(accounts: number): Ledger {
  const ledger = new Ledger();
  for (const event of requestedAddresses(accounts))
    ledger.addresses.apply(event, ledger.addresses.end);
  return ledger;
}

export interface LogOptions {
  readonly seed: number;
  /** how many accounts there are that may ask for an address */
  readonly accounts: number;
  /** roughly, of each topic */
  readonly events: number;
}

/**
 * `deposit.addresses`: events before the scheme, other schemes, repeated requests, panels opened by
 * accounts with and without an address. Odd seeds: as older writers wrote it, with the key.
 */
export function addressLog(options: LogOptions): readonly DepositAddressEvent[] {
  const log = keyedAddressLog(options);
  return options.seed % 2 === 1 ? log : withAddresses(log, new Random(options.seed));
}

/** The same with the key's fingerprint and the addresses, some written for another place. */
export function withAddresses(
  log: readonly DepositAddressEvent[],
  random: Random,
): readonly DepositAddressEvent[] {
  const key = depositKey();
  const known = new Set<string>();
  let isPinned = false;
  return log.map((event, offset): DepositAddressEvent => {
    const sequence = random.chance(0.08) ? offset + random.below(5) - 2 : offset;
    const counts = sequence === offset || sequence === -1;
    switch (event.type) {
      case 'SchemePinned': {
        const read = readDepositKey(event.extended_public_key);
        const fingerprint = 'key' in read ? read.key.fingerprint : Buffer.alloc(31);
        const isOurs = fingerprint.equals(key.fingerprint) && event.scheme === 'hd';
        // the key of the test world counts before any other could
        const place = isOurs && !isPinned ? offset : sequence;
        isPinned ||= isOurs;
        return { ...event, sequence: place, extended_public_key: '', fingerprint };
      }
      case 'AddressRequested': {
        const account = event.clt_address.toString('hex');
        // a request of an older writer, and one for another index
        if (random.chance(0.05)) return event;
        const isOff = random.chance(0.05);
        const derivation_index = known.size + Number(isOff);
        if (isPinned && counts && !isOff) known.add(account);
        const deposit_address = key.addressAt(derivation_index);
        return { ...event, sequence, derivation_index, deposit_address };
      }
      case 'PanelOpened':
        return { ...event, sequence };
    }
  });
}

function keyedAddressLog({ seed, accounts, events }: LogOptions): readonly DepositAddressEvent[] {
  const random = new Random(seed);
  const log: DepositAddressEvent[] = [];
  const pin = (scheme: string, key: string): void =>
    void log.push({ type: 'SchemePinned', scheme, extended_public_key: key, pinned_at: BEGIN });
  const ask = (at: number): void =>
    void log.push({
      type: 'AddressRequested',
      clt_address: accountAt(random.below(accounts)),
      requested_at: BEGIN + at,
    });
  const open = (at: number): void =>
    void log.push({
      type: 'PanelOpened',
      clt_address: accountAt(random.below(accounts)),
      opened_at: BEGIN + at,
    });
  for (let at = random.below(4); at > 0; at--)
    random.pick([
      ask,
      open,
      (): void => pin('hd', 'xpub-mistyped'),
      (): void => pin('single', XPUB),
    ])(at);
  pin('hd', XPUB);
  for (let at = 0; at < events; at++) {
    const time = at * 1_000 + random.below(5_000);
    if (random.chance(0.05)) pin('hd', random.chance(0.5) ? XPUB : OTHER_XPUB);
    else if (random.chance(0.6)) ask(time);
    else open(time);
    if (random.chance(0.05)) log.push(...log.slice(-1 - random.below(4)));
  }
  return log;
}

/**
 * `tron.transfers` by partition: transfers to and checks of the first `accounts` addresses,
 * repeated, in wrong partitions, and to unknown addresses.
 */
export function transferLog({
  seed,
  accounts,
  events,
}: LogOptions): readonly (readonly TransferEvent[])[] {
  const random = new Random(seed);
  const key = depositKey();
  const partitions: TransferEvent[][] = Array.from({ length: PARTITIONS }, () => []);
  const transfers = new Map<string, TransferObserved>();
  for (let at = 0; at < events; at++) {
    const index = random.below(accounts);
    const address = random.chance(0.03) ? random.bytes(20) : key.addressAt(index);
    const time = BEGIN + at * 1_000;
    const made = transferOf(random, { index, address, time });
    // a log index of a transaction is one transfer, also when it is repeated
    const transfer = transfers.get(transferKey(made.tx_id, made.log_index)) ?? made;
    transfers.set(transferKey(made.tx_id, made.log_index), transfer);
    const home = random.chance(0.03) ? random.below(PARTITIONS) : transferPartition(transfer.to);
    const partition = partitions[home] ?? [];
    if (random.chance(0.4)) partition.push(transfer);
    else
      partition.push({
        type: 'AddressesChecked',
        checked_at: time,
        checked: checksOf(random, { key, accounts, home, time }),
      });
    if (random.chance(0.1)) partition.push(...partition.slice(-1 - random.below(5)));
  }
  return partitions;
}

function transferOf(
  random: Random,
  {
    index,
    address,
    time,
  }: { readonly index: number; readonly address: Buffer; readonly time: number },
): TransferObserved {
  return {
    type: 'TransferObserved',
    tx_id: random.chance(0.2) ? Buffer.alloc(32, random.below(40)) : random.bytes(32),
    log_index: random.below(3),
    block_number: 70_000_000 + random.below(1_000),
    block_timestamp: time - random.below(600_000),
    contract: random.chance(0.03) ? random.bytes(20) : USDT_CONTRACT,
    from: random.chance(0.05) ? address : random.bytes(20),
    to: address,
    value: random.chance(0.08)
      ? 0n
      : BigInt(random.below(12_000_000)) * (random.chance(0.1) ? 1_000n : 1n),
    address_index: index,
  };
}

interface CheckRound {
  readonly key: DepositKey;
  readonly accounts: number;
  readonly home: number;
  readonly time: number;
}

function checksOf(
  random: Random,
  { key, accounts, home, time }: CheckRound,
): { address: Buffer; until: number }[] {
  return Array.from({ length: random.below(4) }, () => key.addressAt(random.below(accounts)))
    .filter((address) => transferPartition(address) === home || random.chance(0.1))
    .map((address) => ({ address, until: time - random.below(100_000) }));
}

/**
 * `treasury.ledger`, invented: deposits of a few owners with all decisions in all orders, valid or
 * not; some written for another offset, some twice. About half of the logs are pinned; the mint
 * authority signs most of what needs its signature.
 */
export function ledgerLog({ seed, accounts, events }: LogOptions): readonly TreasuryEvent[] {
  const random = new Random(seed);
  const log: TreasuryEvent[] = [];
  // says which terms are the right ones
  const ledger = new Ledger();
  const confirmed: DepositConfirmed[] = [];
  let hours = 0;
  const write = (event: TreasuryEvent): void => {
    log.push(event);
    ledger.apply(event, ledger.end);
  };
  const append = (event: TreasuryEvent): void => {
    // whole hours, so that times are just a day apart now and then; some clocks are slow
    if (random.chance(0.5)) hours += random.below(5);
    const decided_at = BEGIN + 3_600_000 * (random.chance(0.1) ? hours - random.below(30) : hours);
    const told: TreasuryEvent = {
      ...event,
      decided_at,
      sequence: random.chance(0.05) ? log.length + random.below(5) - 2 : log.length,
    };
    write(random.chance(0.9) ? signedFor(ledger, told) : told);
  };
  const setPolicy = (version: number): void => append(policyOf(random, version));
  if (random.chance(0.9)) setPolicy(1);
  if (random.chance(0.7))
    append({ type: 'AuthoritySet', ...BY, version: 1, authority: addressOf(authority) });
  const pinned = random.chance(0.5) ? random.below(10) : -1;
  let nonce = random.below(3);
  for (let at = 0; at < events; at++) {
    const known = confirmed.length === 0 ? undefined : random.pick(confirmed);
    if (at === pinned || (pinned >= 0 && random.chance(0.01))) append(aPin(random));
    else if (random.chance(0.02)) append({ type: 'MintingSet', ...BY, open: random.chance(0.7) });
    else if (random.chance(0.03)) setPolicy(1 + random.below((ledger.policy?.version ?? 0) + 1));
    else if (known === undefined || random.chance(0.3)) {
      const isAgain = random.chance(0.1) && known !== undefined;
      const next = isAgain ? known : aDeposit(random, { ledger, accounts, at });
      confirmed.push(next);
      append(next);
    } else if (random.chance(1 / 50)) append(aBatch(random, ledger, confirmed));
    else append(anEvent(random, known, random.chance(0.8) ? nonce++ : random.below(nonce + 1)));
    // once more, as a producer that lost the answer would: for the place where it stood before
    if (random.chance(0.05)) for (const event of log.slice(-1 - random.below(3))) write(event);
  }
  return log;
}

/** The log, and then a deposit that is too small, rejected and paid back by an operator. */
export function withRefund(log: readonly TreasuryEvent[]): readonly TreasuryEvent[] {
  const ledger = new Ledger();
  for (const [at, event] of log.entries()) ledger.apply(event, BigInt(at));
  const { policy } = ledger;
  if (policy === undefined) throw new Error('no policy is in force');
  const small = confirmedEvent({
    tx_id: Buffer.alloc(32, 0x5a),
    clt_address: Buffer.alloc(20, 0x5a),
    gross: 1n,
    fee: policy.first_fee,
    credit: 0n,
    policy_version: policy.version,
  });
  const make = depositEvents(small.deposit_id);
  const id = ledger.governance.ledger_id;
  const added = placed<TreasuryEvent>(
    [operatorsSet(alice), small, make.held('below_minimum'), make.rejected(), make.refunded(1n)],
    log.length,
  );
  const written = added.map((event) => {
    if (event.type === 'OperatorsSet')
      return id === undefined ? event : signed(event, authority, id);
    const isTheirs = event.type === 'DepositRejected' || event.type === 'RefundRecorded';
    return isTheirs ? signed(event, alice, id) : event;
  });
  return [...log, ...written];
}

/** Signed by the mint authority where that is asked for. */
function signedFor({ governance }: Ledger, event: TreasuryEvent): TreasuryEvent {
  if (event.type === 'LedgerPinned') return signed(event, authority);
  if (event.type === 'MintVoided') return signed(event, authority, governance.ledger_id);
  const isTheirs =
    event.type === 'PolicySet' ||
    event.type === 'DepositHeld' ||
    event.type === 'MintIntended' ||
    event.type === 'MintDead';
  return isTheirs && governance.ledger_id !== undefined
    ? signed(event, authority, governance.ledger_id)
    : event;
}

function aPin(random: Random): TreasuryEvent {
  return {
    type: 'LedgerPinned',
    sequence: 0,
    decided_at: BEGIN,
    ledger_id: random.bytes(32),
    network: 'testnet',
    chain_id: 7777,
    usdt_contract: USDT_CONTRACT,
    authority: addressOf(authority),
  };
}

/** With a rolling cap that some mints pass, a few, or all; some contradict themselves. */
function policyOf(random: Random, version: number): PolicySet {
  const rolling_cap = random.pick([20_000_000n, 60_000_000n, 5_000_000_000n]);
  const { single_cap } = NETWORK_LIMITS.testnet;
  return {
    type: 'PolicySet',
    ...BY,
    version,
    network: 'testnet',
    ...NETWORK_LIMITS.testnet,
    single_cap: single_cap < rolling_cap || random.chance(0.1) ? single_cap : rolling_cap,
    rolling_cap,
  };
}

/** On its right terms, most of the time. */
function aDeposit(
  random: Random,
  {
    ledger,
    accounts,
    at,
  }: { readonly ledger: Ledger; readonly accounts: number; readonly at: number },
): DepositConfirmed {
  const index = random.below(accounts);
  const deposit_address = depositKey().addressAt(index);
  const gross = BigInt(1 + random.below(20_000_000));
  const policy = ledger.policy ?? { version: 1, ...NETWORK_LIMITS.testnet };
  const address_ordinal = ledger.depositsOf(accountAt(index)) + Number(random.chance(0.02));
  const isFirst = (address_ordinal === 0) !== random.chance(0.02);
  const fee = isFirst ? policy.first_fee : policy.later_fee;
  return confirmedEvent({
    tx_id: random.bytes(32),
    log_index: random.below(3),
    deposit_address,
    clt_address: accountAt(index),
    gross,
    fee,
    credit: (gross > fee ? gross - fee : 0n) + BigInt(random.chance(0.02)),
    block_timestamp: BEGIN + at,
    transfer_partition: transferPartition(deposit_address),
    transfer_offset: at,
    address_ordinal,
    policy_version: policy.version + Number(random.chance(0.02)),
  });
}

/** A decision of deposits that wait, or of others; now and then one twice, or other sums. */
function aBatch(
  random: Random,
  ledger: Ledger,
  confirmed: readonly DepositConfirmed[],
): DepositsDecided {
  const isHeld = ({ deposit_id: id }: DepositConfirmed): boolean => {
    const deposit = ledger.deposit(id);
    return deposit.status === 'needs_manual' && (!deposit.rejected || random.chance(0.02));
  };
  const held = [...new Set(confirmed)].filter(isHeld);
  const some = random.chance(0.8) && held.length > 0 ? held : [random.pick(confirmed)];
  const named = [
    ...some.slice(-1 - random.below(5)),
    ...(random.chance(0.1) ? some.slice(0, 1) : []),
  ];
  return {
    type: 'DepositsDecided',
    ...BY,
    actor: random.pick(['alice', 'b\0b']),
    decision: random.chance(0.05) ? 'none' : random.pick(['approve', 'reject']),
    deposit_ids: named.map(({ deposit_id: id }) => id),
    gross: named.reduce((sum, { gross }) => sum + gross, BigInt(random.chance(0.05))),
    credit: named.reduce((sum, { credit }) => sum + credit, 0n),
  };
}

/** A random event about one of two transactions that may mint a deposit. */
function anEvent(
  random: Random,
  { deposit_id: id, clt_address, credit }: DepositConfirmed,
  nonce: number,
): TreasuryEvent {
  const make = depositEvents(id);
  const hash = Buffer.alloc(32, random.below(2));
  const to = random.chance(0.9) ? clt_address : accountAt(99);
  const amount = random.chance(0.9) ? credit : credit + 1n;
  return random.pick<() => TreasuryEvent>([
    () => make.held(random.pick(HOLD_REASONS)),
    () => make.approved(random.pick(['alice', 'b\0b'])),
    () => make.rejected(),
    () => make.intended({ to, amount, nonce, tx_hash: hash }),
    () => make.intended({ to, amount, nonce, tx_hash: hash }),
    () => make.credited(hash),
    () => make.credited(hash),
    () => make.dead(hash, 1),
    () => make.voided(hash, 1),
  ])();
}
