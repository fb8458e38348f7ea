/**
 * The expected tables of `deposits` and `watch`: the rows of the plain fold of money, and those of
 * the log of addresses and of transfers, computed naively.
 */
import { transferPartition } from '../../schemas/tron-partition.ts';
import type { DepositAddressEvent } from '../../schemas/deposit.addresses/events.ts';
import type { TransferEvent } from '../../schemas/tron.transfers/events.ts';
import type { DepositConfirmed, TreasuryEvent } from '../../schemas/treasury.ledger/events.ts';
import { bookRows, isPlaced, millis, requestsOf } from './plain-book.ts';
import { plainHead } from './plain-chain.ts';
import { plainMoney, type Story } from './plain-money.ts';
import type { PlainMints } from './plain-mints.ts';
import { texts, type TableTexts } from './plain-fold.ts';
import type { Row } from './plain-fold-rows.ts';

const DAY_MS = 86_400_000;

/** Every row of the tables of `deposits`. */
export function plainDeposits(
  addresses: readonly DepositAddressEvent[],
  ledger: readonly TreasuryEvent[],
): TableTexts {
  const { chained, stories, mints, governance } = plainMoney(ledger);
  const sequence = chained.at(-1)?.sequence;
  const all = [...stories.values()];
  const owners = Map.groupBy(all, ({ first }) => first.clt_address.toString('hex'));
  return {
    book: texts(bookRows(addresses)),
    addresses: texts(
      requestsOf(addresses).map(({ account, address, requested_at }, index) => ({
        clt_address: account,
        derivation_index: index,
        deposit_address: address,
        requested_at: millis(requested_at),
      })),
    ),
    ledger: texts(
      sequence === undefined
        ? []
        : [
            {
              one: true,
              sequence,
              head: plainHead(chained),
              deposits: all.length,
              ...mints.head,
              ...governance.row,
            },
          ],
    ),
    policies: texts(mints.policyRows),
    mints: texts(mints.mintRows),
    refunds: texts(
      all.flatMap(({ first, refund }) =>
        refund === null ? [] : [{ tron_tx_id: refund, deposit_id: first.deposit_id }],
      ),
    ),
    owners: texts(
      [...owners].map(([owner, theirs]) => ({ clt_address: owner, deposits: theirs.length })),
    ),
    deposits: texts(
      all.map(({ first }, seq) =>
        depositRow(first, seq, owners.get(first.clt_address.toString('hex')) ?? []),
      ),
    ),
    standings: texts(all.map((story) => standingRow(story, mints))),
    by_status: texts(
      all.map(({ first, status, rejected }, seq) => ({
        status: rejected ? 'rejected' : status,
        seq,
        id: first.deposit_id,
      })),
    ),
    deposit_events: texts(
      all.flatMap(({ events }) => events.map((row, ordinal) => ({ ...row, ordinal }))),
    ),
  };
}

function depositRow(first: DepositConfirmed, seq: number, theirs: readonly Story[]): Row {
  const {
    deposit_id: id,
    clt_address,
    deposit_address,
    tx_id,
    log_index,
    gross,
    fee,
    credit,
  } = first;
  const ordinal = theirs.findIndex((story) => story.first === first);
  const { policy_version, address_ordinal, block_number } = first;
  const fixed = {
    clt_address,
    deposit_address,
    tx_id,
    log_index,
    gross,
    fee,
    credit,
    policy_version,
    address_ordinal,
    block_number,
  };
  return { id, seq, ordinal, ...fixed, created_at: millis(first.block_timestamp) };
}

function standingRow(
  { first, status, reason, approved, rejected, refunded, mint, events, queued }: Story,
  mints: PlainMints,
): Row {
  const cap = mints.policies.at(-1)?.rolling_cap ?? -1n;
  return {
    id: first.deposit_id,
    status,
    reason,
    approved,
    rejected,
    approved_by: null,
    refunded,
    sequence: mint?.sequence ?? null,
    nonce: mint?.nonce ?? null,
    tx_hash: mint?.hash ?? null,
    events: events.length,
    queue_offset: queued?.offset ?? null,
    queued_at: queued?.at ?? null,
    goes_first_at: queued === null || first.credit > cap ? null : queued.at + DAY_MS,
  };
}

function levelOf(pause: number): number {
  const seconds = [1, 4, 16, 64, 256, 1_024, 4_096, 16_384, 65_536];
  return seconds.filter((limit) => pause >= 1_000 * limit).length;
}

/** Every row of the tables of `watch`, given by partition what stands in `tron.transfers`. */
export function plainWatch(
  addresses: readonly DepositAddressEvent[],
  transfers: readonly (readonly TransferEvent[])[],
): TableTexts {
  const requests = requestsOf(addresses).map((request, index) => Object.assign(request, { index }));
  const own = transfers.flatMap((log, partition) =>
    log.map((event, offset) => ({ event, partition, offset })),
  );
  const checks = own.flatMap(({ event, partition }) =>
    event.type !== 'AddressesChecked'
      ? []
      : event.checked
          .filter(({ address }) => transferPartition(address) === partition)
          .map(({ address, until }) => ({ address, until, at: event.checked_at })),
  );
  const seen = own.flatMap(({ event, partition, offset }) =>
    event.type === 'TransferObserved' && transferPartition(event.to) === partition
      ? [{ event, partition, offset }]
      : [],
  );
  const unique = new Map(
    seen
      .toReversed()
      .map((each) => [`${each.event.tx_id.toString('hex')}:${each.event.log_index}`, each]),
  );
  const paid = new Map(
    seen.flatMap(({ event: { to, value } }) => (value > 0n ? [[to.toString('hex'), to]] : [])),
  );
  const queued = new Map([
    ...[...requests, ...checks].map(({ address }) => [address.toString('hex'), address] as const),
    ...paid,
  ]);
  return {
    book: texts(bookRows(addresses)),
    addresses: texts(
      requests.map(({ account, address, index, requested_at }) => ({
        clt_address: account,
        derivation_index: index,
        deposit_address: address,
        partition: transferPartition(address),
        requested_at: millis(requested_at),
      })),
    ),
    queue: texts(
      [...queued.values()].map((address) => {
        const request = requests.find((each) => each.address.equals(address));
        const looks = addresses.flatMap((event, at) => {
          if (
            request === undefined ||
            at < request.at ||
            !isPlaced(event, at) ||
            event.type === 'SchemePinned' ||
            !event.clt_address.equals(request.account)
          )
            return [];
          if (event.type === 'PanelOpened') return [event.opened_at];
          return at === request.at ? [event.requested_at] : [];
        });
        const theirs = checks.filter((check) => check.address.equals(address));
        const hot_until = looks.length === 0 ? 0 : Math.max(...looks) + DAY_MS;
        const checked_at = Math.max(0, ...theirs.map(({ at }) => at));
        const opened = hot_until - DAY_MS;
        const sixteenths = paid.has(address.toString('hex')) ? 1 : 4 * looks.length;
        const pause = Math.min(DAY_MS, Math.floor(((checked_at - opened) * sixteenths) / 16));
        return {
          deposit_address: address,
          partition: transferPartition(address),
          requested: request !== undefined,
          hot: hot_until > checked_at,
          paid: paid.has(address.toString('hex')),
          openings: looks.length,
          hot_until,
          checked_at,
          checked_until: Math.max(0, ...theirs.map(({ until }) => until)),
          turn_at: Math.max(checked_at, opened),
          due_at: checked_at <= opened ? opened : checked_at + pause,
          pause_level: checked_at <= opened ? 0 : levelOf(pause),
        };
      }),
    ),
    transfers: texts(
      [...unique.values()].map(({ event, partition, offset }) => ({
        tx_id: event.tx_id,
        log_index: event.log_index,
        deposit_address: event.to,
        value: event.value,
        block_number: event.block_number,
        block_timestamp: millis(event.block_timestamp),
        partition,
        log_offset: offset,
      })),
    ),
  };
}
