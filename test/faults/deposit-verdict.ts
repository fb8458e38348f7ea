/** Drains the run, then compares the network, the logs and the tables. */
import type { Pool } from 'pg';
import { parseTronAddress, toTronAddress } from '../../schemas/tron-address.ts';
import {
  DEPOSIT_ADDRESSES,
  TREASURY_LEDGER,
  TRON_TRANSFERS,
  type Topic,
} from '../../schemas/topics.ts';
import type { Kafka } from '../../services/runtime/kafka/port.ts';
import type { Codec } from '../../services/runtime/kafka/codec.ts';
import { depositKey } from '../support/deposit-log.ts';
import { testKafka } from '../support/kafka.ts';
import { plainDeposits, plainWatch } from '../support/plain-deposits.ts';
import { differences, readTables, texts } from '../support/plain-fold.ts';
import type { Stack } from '../support/stack.ts';
import { USDT } from '../support/tron.ts';
import { until } from '../support/until.ts';
import { judgeLedger, judgeTransfers } from './deposit-ledger.ts';
import { endsOf, ownersIn, readDepositLogs, type DepositLogs } from './deposit-logs.ts';
import { KEY, PASS_ADDRESSES_MAX } from './deposit-settings.ts';
import type { Depositors } from './depositors.ts';
import type { FaultReport } from './fault-run.ts';
import type { Payments } from './payments.ts';
import { figureOf, type Processes } from './processes.ts';

const TURN = { turn: texts([{ one: true }]) };
const WATCHERS = ['tron-watcher', 'tron-watcher/2'];
const TREASURIES = ['treasury', 'treasury/2'];
const READERS = ['projector-deposits', 'projector-watch', 'deposit-gateway'];

export interface Run {
  readonly stack: Stack;
  readonly processes: Processes;
  readonly payments: Payments;
  readonly depositors: Depositors;
  readonly pool: Pool;
}

export async function judged(
  run: Run,
  codec: Codec,
  {
    requests: allowed,
    progress,
  }: { readonly requests: number; readonly progress: (line: string) => void },
): Promise<FaultReport> {
  const { stack, payments, pool } = run;
  const kafka = testKafka(stack.addresses);
  const violations = [...(await rest(run, kafka, progress))];
  // before anybody but the watchers has asked
  const requests = await requestsOf(run);
  const logs = await readDepositLogs(kafka, codec);
  const transfers = judgeTransfers(logs, payments.payables, PASS_ADDRESSES_MAX);
  violations.push(
    ...transfers.violations,
    ...judgeLedger(logs, payments.payables),
    ...misled(run, logs),
    ...(await unpaid(run)),
  );
  progress('folding the logs in the plainest way');
  for (const [schema, plain] of [
    ['deposits', plainDeposits(logs.addresses, logs.ledger)],
    ['watch', { ...TURN, ...plainWatch(logs.addresses, logs.transfers) }],
  ] as const)
    violations.push(
      ...differences(await readTables(pool, schema), plain).map(
        (what) => `${schema}: table and plain fold differ: ${what}`,
      ),
    );
  if (requests.max_in_1s > allowed)
    violations.push(
      `the provider was asked ${requests.max_in_1s} times within a second, ${allowed} are allowed`,
    );
  const counted = logs.ledger.filter(({ sequence }, offset) => sequence === offset);
  return {
    lines: [
      `log: ${logs.addresses.length} events of addresses; ${transfers.observed} transfers observed, ${transfers.repeated} of them again, ${transfers.checks} checks of addresses; ${logs.ledger.length} events in the ledger, ${logs.ledger.length - counted.length} of them came second`,
      `requests to the provider: ${requests.total}, at most ${requests.max_in_1s} within a second of ${allowed} allowed`,
    ],
    violations,
  };
}

/**
 * Stops the processes in the order of the data flow, each once it is idle; returns those that did
 * not drain.
 */
async function rest(
  { stack, processes, payments, pool }: Run,
  kafka: Kafka,
  progress: (line: string) => void,
): Promise<readonly string[]> {
  await fetch(`http://127.0.0.1:${stack.ports.devnet}/admin/faults`, { method: 'DELETE' });
  const settled = await payments.settle();
  progress('the provider is well again: waiting until each address was asked about');
  const queue = async () => {
    const { rows } = await pool.query<{ due: string; known: string }>(
      'SELECT count(*) FILTER (WHERE checked_until < $1) AS due, count(*) FILTER (WHERE requested) AS known FROM watch.queue',
      [settled],
    );
    return rows[0];
  };
  await until(
    queue,
    'each address to be asked about once more',
    (seen) => seen?.due === '0' && seen.known !== '0',
  );
  const violations = [...(await processes.drain(WATCHERS))];
  await until(
    () => isProjected(pool, kafka, 'watch', [DEPOSIT_ADDRESSES, TRON_TRANSFERS]),
    'projector watch at the end',
  );
  for (const slot of TREASURIES)
    for (const figure of ['treasury_lag_records', 'treasury_transfers_waiting'])
      await until(
        () => figureOf(processes.at(slot), figure),
        `${figure} of ${slot} to be 0`,
        (seen) => seen === 0,
      );
  violations.push(...(await processes.drain(TREASURIES)));
  await until(
    () => isProjected(pool, kafka, 'deposits', [DEPOSIT_ADDRESSES, TREASURY_LEDGER]),
    'projector deposits at the end',
  );
  return [...violations, ...(await processes.drain(READERS))];
}

/** Whether the projection has applied all records of these topics. */
export async function isProjected(
  pool: Pick<Pool, 'query'>,
  kafka: Kafka,
  projection: string,
  topics: readonly Topic[],
): Promise<boolean> {
  const { rows } = await pool.query<{ topic: string; partition: number; next_offset: string }>(
    'SELECT topic, partition, next_offset FROM projector.checkpoints WHERE projection = $1',
    [projection],
  );
  for (const topic of topics) {
    for (const [partition, end] of (await endsOf(kafka, topic)).entries()) {
      const row = rows.find((each) => each.topic === topic.name && each.partition === partition);
      if (BigInt(row?.next_offset ?? 0) !== end) return false;
    }
  }
  return true;
}

/** Each depositor's address must be the one that follows from the order of the log. */
function misled({ depositors }: Run, { addresses }: DepositLogs): readonly string[] {
  const key = depositKey();
  const owners = ownersIn(addresses).map((owner) => owner.readUInt32BE(16));
  return [...depositors.addresses].flatMap(([account, told]) => {
    const index = owners.indexOf(account);
    const right = index === -1 ? 'none' : toTronAddress(key.addressAt(index));
    return right === told
      ? []
      : [`account ${account} was told ${told}, by the log it has ${right}`];
  });
}

/** Each address that never paid must hold the sum of its deposits on the network. */
async function unpaid({ stack, payments }: Run): Promise<readonly string[]> {
  const sums = new Map<string, bigint>();
  for (const { index, value } of payments.payables.values()) {
    const address = payments.addressAt(index);
    if (address !== undefined && !payments.senders.has(index))
      sums.set(address, (sums.get(address) ?? 0n) + value);
  }
  const wrong: string[] = [];
  for (const [address, sum] of sums) {
    const response = await fetch(
      `${stack.addresses.tron_url}/walletsolidity/triggerconstantcontract`,
      {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'TRON-PRO-API-KEY': KEY },
        body: JSON.stringify({
          owner_address: address,
          contract_address: USDT,
          function_selector: 'balanceOf(address)',
          parameter: parseTronAddress(address)?.toString('hex').padStart(64, '0'),
          visible: true,
        }),
      },
    );
    const { constant_result: words = [] }: { readonly constant_result?: readonly string[] } =
      Object(await response.json());
    const owns = BigInt(`0x${words[0] ?? '0'}`);
    if (owns !== sum) wrong.push(`${address} owns ${owns}, its deposits are ${sum}`);
  }
  return wrong;
}

async function requestsOf({
  stack,
}: Run): Promise<{ readonly total: number; readonly max_in_1s: number }> {
  const response = await fetch(`http://127.0.0.1:${stack.ports.devnet}/admin/tron/requests`);
  return Object(await response.json());
}
