/**
 * The expected tables of the series, written from the list of live blocks alone. It shares no code
 * with the projection.
 */
import type { BlockAppended, ChainEvent } from '../../../schemas/chain.blocks/events.ts';
import { texts, type TableTexts } from '../../support/plain-fold.ts';

const HOUR_MS = 60 * 60 * 1_000;

interface Live {
  readonly block: BlockAppended;
  readonly hour: number;
}

export function plainSeries(log: Iterable<ChainEvent>): {
  readonly tables: TableTexts;
  readonly journal_heights: readonly number[];
} {
  const live: Live[] = [];
  let head: Record<string, unknown> | undefined;
  let final = -1;
  let from: number | undefined;
  let offset = 0;
  for (const event of log) {
    if (event.sequence !== offset++) continue;
    const { sequence, height, hash } = event;
    if (event.type === 'BlockAppended') {
      from ??= height;
      const hour = Math.floor(event.timestamp / HOUR_MS);
      live.push({ block: event, hour: Math.max(hour, live.at(-1)?.hour ?? 0) });
      head = { height, hash };
    } else if (event.type === 'BlockReverted') {
      live.pop();
      head = { height: height - 1, hash: event.parent_hash };
    } else {
      final = height;
      from = height + 1;
    }
    head = { ...head, sequence };
  }
  const firstOpen = from ?? 0;
  return {
    tables: {
      head: texts(
        head === undefined
          ? []
          : [{ one: true, ...head, finalized_height: final, journal_from: firstOpen }],
      ),
      hours: texts(hourRows(live)),
      days: texts(dayRows(live)),
      producers: texts(producerRows(live)),
      accounts: texts(accountRows(live)),
    },
    journal_heights: live.map(({ block }) => block.height).filter((height) => height >= firstOpen),
  };
}

function grouped<Key>(live: readonly Live[], by: (each: Live) => Key): [Key, readonly Live[]][] {
  return [...Map.groupBy(live, by)];
}

function hourRows(live: readonly Live[]) {
  return grouped(live, ({ hour }) => hour).map(([hour, within]) => {
    const last = within.at(-1)?.block.height ?? -1;
    const effects = within.flatMap(({ block }) =>
      block.balance_effects.map((effect) => ({ ...effect, producer: block.producer })),
    );
    const calls = within.flatMap(({ block }) => block.transactions);
    const earned = effects.filter(
      ({ kind, address, producer }) => kind === 'tx_fee_earned' && address.equals(producer),
    );
    const paid = effects.filter(({ kind, delta }) => kind === 'ride_pay' && delta < 0n);
    const existing = live
      .filter(({ block }) => block.height <= last)
      .flatMap(({ block }) => block.balance_effects);
    return {
      hour,
      last_height: last,
      blocks: within.length,
      transactions: calls.length,
      fees: sum(earned),
      rides: calls.filter(
        ({ function_call_type: functionCallType }) => functionCallType === 'RideAcceptance',
      ).length,
      fares: -sum(paid),
      active_accounts: partiesIn(within).size,
      supply: sum(existing),
    };
  });
}

function dayRows(live: readonly Live[]) {
  return grouped(live, ({ hour }) => Math.floor(hour / 24))
    .map(([day, within]) => ({ day, active_accounts: partiesIn(within).size }))
    .filter(({ active_accounts: activeAccounts }) => activeAccounts > 0);
}

function producerRows(live: readonly Live[]) {
  return grouped(live, ({ hour, block }) => `${hour} ${block.producer.toString('hex')}`).map(
    ([key, within]) => ({
      hour: key.split(' ')[0] ?? '',
      address: key.split(' ')[1] ?? '',
      blocks: within.length,
    }),
  );
}

function accountRows(live: readonly Live[]) {
  return [...partiesIn(live)].map((address) => ({
    address,
    last_hour: live.findLast((each) => partiesIn([each]).has(address))?.hour ?? -1,
  }));
}

function partiesIn(live: readonly Live[]): ReadonlySet<string> {
  return new Set(
    live.flatMap(({ block }) =>
      block.transactions.flatMap(({ from, to }) => [from.toString('hex'), to.toString('hex')]),
    ),
  );
}

function sum(effects: readonly { readonly delta: bigint }[]): bigint {
  return effects.reduce((total, { delta }) => total + delta, 0n);
}
