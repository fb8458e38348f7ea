/** Each fold that snapshots keep, stopped after any record and gone on with elsewhere. */
import { deserialize, serialize } from 'node:v8';
import { expect, test } from 'vitest';
import { Receipts } from '../../../projections/reserve/position.ts';
import { ChainSupply } from '../../../projections/reserve/supply.ts';
import { deriveKey } from '../../../infra/devnet/clt/keys.ts';
import { parseAddress } from '../../../schemas/address.ts';
import { depositIdOf } from '../../../schemas/deposit-id.ts';
import { Metrics } from '../../../services/runtime/process/metrics.ts';
import { NO_TRACING } from '../../../services/runtime/process/tracing.ts';
import { Books } from '../../../services/treasury/ledger/books.ts';
import { keptLedger } from '../../../services/treasury/ledger/kept-ledger.ts';
import { DepositTraces } from '../../../services/treasury/ledger/traces.ts';
import { TransferQueue } from '../../../services/treasury/ledger/transfer-queue.ts';
import { keptOf, type KeptFold } from '../../../services/treasury/log-follower.ts';
import { openTreasuryMetrics } from '../../../services/treasury/metrics.ts';
import { ChainBook } from '../../../services/treasury/minting/chain-book.ts';
import { LastCheck } from '../../../services/treasury/minting/last-check.ts';
import { NewestRun } from '../../../services/treasury/reconciliation/newest-run.ts';
import { PublishedHeads } from '../../../services/treasury/reconciliation/published-heads.ts';
import { depositKey, PARTITIONS } from '../../support/deposit-log.ts';
import { Random } from '../../support/random.ts';
import { ACCOUNTS, ADDRESSES, type Logs } from '../ops/audit/audited.ts';
import { randomLogs } from '../ops/audit/random-logs.ts';

const SEEDS = 24;
const TOPIC = 'log';
const OWN = parseAddress(deriveKey('audit', 'authority 1').address) ?? Buffer.alloc(20);

interface Process {
  readonly kept: readonly KeptFold<unknown>[];
  /** everything that one can ask of the folds */
  readonly views: () => unknown;
  /** folds the next record of that log */
  readonly steps: Readonly<Record<string, (offset: number) => void>>;
}

function recorded<Event>(events: readonly Event[], offset: number) {
  const event = events[offset];
  if (event === undefined) throw new Error(`there is no record ${offset}`);
  return { event, partition: 0, offset: BigInt(offset), timestamp: 1_000 * offset };
}

function decoded<Event>(events: readonly Event[], offset: number) {
  const next = BigInt(offset) + 1n;
  const of = { topic: TOPIC, partition: 0, from: BigInt(offset), next };
  const fingerprints = [Buffer.alloc(32, offset)];
  return { ...of, events: [recorded(events, offset)], fingerprints, sizes: [1] };
}

function noGauges(): never {
  throw new Error('nobody looks at the gauges');
}

/** Everything that a treasury folds; the ledger is known as far as the chain needs it. */
function open({ ledger, chain, runs, transfers }: Logs): Process {
  const last = new LastCheck();
  const books = new Books(depositKey(), (event) => {
    last.apply(event);
    metrics.applied(event);
  });
  const metrics = openTreasuryMetrics(
    new Metrics('test', { of_process: false }),
    noGauges,
    () => books.ledger,
    10_000n,
  );
  const traces = new DepositTraces(NO_TRACING);
  const whole = new Books(depositKey(), () => undefined);
  for (const offset of ledger.keys()) whole.foldLedger(decoded(ledger, offset));
  const mints = new ChainBook({ chain_id: 7777, ledger: whole.ledger, own: OWN });
  const queue = new TransferQueue(
    TOPIC,
    Array.from({ length: PARTITIONS }, () => -1),
  );
  const supply = new ChainSupply();
  const receipts = new Receipts();
  const newest = new NewestRun(OWN);
  const heads = new PublishedHeads(TOPIC);
  const views = (): unknown => {
    const ids = [...books.ledger.deposits.keys()];
    const { addresses, governance } = books.ledger;
    const all = [books, books.ledger, governance, addresses, queue, mints, mints.sender];
    return [
      ...[...all, supply, receipts, newest, heads].map(gettersOf),
      ids.map((id) => [books.ledger.deposit(id), books.ledger.givenUp(id), books.confirmation(id)]),
      ids.map((deposit_id) => last.whyNot({ deposit_id, amount: 1n }, 10_000_000n)),
      ledger.map(({ decided_at }) => [
        books.ledger.leftAt(decided_at),
        books.ledger.roomAt(1n, decided_at),
      ]),
      Array.from({ length: PARTITIONS }, (_, at) => books.newestIn(at)),
      Array.from({ length: ACCOUNTS }, (_, at) => {
        const owner = addresses.ownerAt(at) ?? OWN;
        return [addresses.addressOf(owner), books.ledger.depositsOf(owner)];
      }),
      chain.map(({ height, hash }) => [supply.burnedUpTo(height), supply.mintsOf(hash)]),
      chain.flatMap((event) =>
        event.type === 'BlockAppended'
          ? event.transactions.map(({ hash }) => supply.mintsOf(hash))
          : [],
      ),
      receipts.holders(),
      queue.first(1_000),
      metrics.counted(),
    ];
  };
  return {
    views,
    kept: [
      keptLedger({ books, last, metrics, traces }),
      keptOf('addresses', books.ledger.addresses),
      keptOf('transfers', queue),
      keptOf('mints', mints),
      keptOf('supply', supply),
      keptOf('receipts', receipts),
      keptOf('runs', newest),
      keptOf('heads', heads),
    ],
    steps: {
      ledger(offset) {
        const { event } = recorded(ledger, offset);
        traces.note(event, { traceparent: `00-${offset}` });
        books.foldLedger(decoded(ledger, offset));
        heads.folded(books.ledger);
        if (event.type === 'DepositConfirmed') receipts.add(event, BigInt(offset));
      },
      addresses: (offset) => books.foldAddresses(decoded(ADDRESSES, offset)),
      transfers(at) {
        const transfer = transfers[at];
        if (transfer === undefined) throw new Error(`there is no transfer ${at}`);
        const { partition, offset } = transfer;
        const of = { topic: TOPIC, partition, from: offset, next: offset + 1n, sizes: [1] };
        const events = [{ ...transfer, timestamp: at }];
        queue.put({ ...of, events, fingerprints: [Buffer.alloc(32, at)] });
        queue.settle(({ event: { tx_id, log_index } }) => {
          const { status } = books.ledger.deposit(depositIdOf(tx_id, log_index));
          return status !== 'absent';
        });
        books.observed(transfer);
      },
      chain(offset) {
        mints.fold(decoded(chain, offset));
        const { event } = recorded(chain, offset);
        expect(supply.apply(event, BigInt(offset))).toBe('applied');
      },
      runs(offset) {
        newest.fold(decoded(runs, offset));
        heads.published(recorded(runs, offset).event);
      },
    },
  };
}

/** The values of all getters but the state. */
function gettersOf(object: object): readonly unknown[] {
  const all = Object.entries(Object.getOwnPropertyDescriptors(Object.getPrototypeOf(object)));
  return all.flatMap(([name, descriptor]) => {
    if (descriptor.get === undefined || name === 'state' || name === 'changed') return [];
    const value: unknown = Reflect.get(object, name);
    return [[name, value instanceof Iterator ? [...value] : value]];
  });
}

/** The logs' records in one order: each log's own order is kept. */
function schedule(logs: Logs, random: Random): readonly (readonly [log: string, at: number])[] {
  const { ledger, chain, runs, transfers } = logs;
  const left = new Map(
    Object.entries({ ledger, chain, runs, transfers, addresses: ADDRESSES }).map(
      ([log, { length }]) => [log, { at: 0, length }],
    ),
  );
  const order: (readonly [string, number])[] = [];
  for (;;) {
    const unread = [...left].filter(([, { at, length }]) => at < length);
    const [log, next] = unread[random.below(Math.max(1, unread.length))] ?? [];
    if (log === undefined || next === undefined) return order;
    order.push([log, next.at++]);
  }
}

test('each fold goes on from a snapshot as if it had never stopped', () => {
  for (let seed = 0; seed < SEEDS; seed++) {
    const random = new Random(seed);
    const logs = randomLogs(seed);
    const order = schedule(logs, random);
    const whole = open(logs);
    for (const [log, at] of order) whole.steps[log]?.(at);

    let process = open(logs);
    for (const [log, at] of order) {
      process.steps[log]?.(at);
      if (!random.chance(0.05)) continue;
      const written = serialize(process.kept.map((fold) => fold.state()));
      process = open(logs);
      const states: unknown[] = deserialize(written);
      for (const [index, fold] of process.kept.entries())
        expect(fold.restore(states[index]), fold.name).toBe(true);
    }
    for (const [index, fold] of process.kept.entries())
      expect(fold.state(), `${fold.name}, seed ${seed}`).toEqual(whole.kept[index]?.state());
    expect(process.views(), `seed ${seed}`).toEqual(whole.views());
  }
});

test('a chain book refuses the state of one that followed other authorities', () => {
  const logs = randomLogs(1);
  const { ledger } = new Books(depositKey(), () => undefined);
  const of = { chain_id: 7777, ledger };
  const book = new ChainBook({ ...of, own: OWN });
  for (const offset of logs.chain.keys()) book.fold(decoded(logs.chain, offset));
  const other = new ChainBook({ ...of, own: Buffer.alloc(20, 1) });
  expect(other.restore(book.state)).toBe(false);
  expect(other.end).toBe(0n);
});
