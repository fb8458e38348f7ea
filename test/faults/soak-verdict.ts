/** The verdict at the end of the soak: everything comes to rest, then all is compared with all. */
import { Pool } from 'pg';
import { services } from '../../infra/services/services.ts';
import { defaultSettings } from '../../infra/services/settings.ts';
import { CHAIN_BLOCKS } from '../../schemas/topics.ts';
import { AUDITED_TOPICS } from '../../services/ops/audit/audit.ts';
import { openCodec } from '../support/codec.ts';
import { testKafka } from '../support/kafka.ts';
import type { Stack } from '../support/stack.ts';
import { until } from '../support/until.ts';
import { auditedElsewhere } from './auditor.ts';
import { judgeChain } from './chain-verdict.ts';
import { countsLine, type FaultReport, type Given } from './fault-run.ts';
import type { answersOf, Watchers } from './hub-watchers.ts';
import { miscounted, misjudged, unlikeBalances, type Audited } from './mint-verdict.ts';
import { runOps } from './ops-run.ts';
import { figureOf, type Processes } from './processes.ts';
import { searchLogs, secretsOf } from './secrets.ts';

export interface Soaked {
  readonly stack: Stack;
  readonly processes: Processes;
  /** of the services: some are secrets */
  readonly settings: readonly Readonly<Record<string, string>>[];
  readonly watchers: Watchers;
  /** what the queries of the watched lists answer */
  readonly answers: () => ReturnType<typeof answersOf>;
  /** payments by account */
  readonly paid: ReadonlyMap<number, readonly bigint[]>;
  /** how many payments */
  readonly made: number;
  readonly progress: Given['progress'];
}

/** Nothing is paid any more, and nothing killed. All services have ended when it resolves. */
export async function judgeSoak(run: Soaked): Promise<FaultReport> {
  const { stack, processes, settings, watchers, answers, paid, made, progress } = run;
  const { addresses } = stack;
  const pool = new Pool({ connectionString: addresses.postgres_url, max: 1 });
  try {
    await devnetAdmin(stack, '/traffic', { transactions_per_second: 0 });
    await processes.whileAllRun(allCredited(processes, made));
    const reserve = await processes.whileAllRun(reserveRuns(pool));
    await devnetAdmin(stack, '/clt/auto', { enabled: false });
    progress('the chain stands still: comparing node, log, tables and sockets');
    const kafka = testKafka(addresses);
    const codec = await openCodec(addresses.registry_url, [CHAIN_BLOCKS, ...AUDITED_TOPICS]);
    const chain = await judgeChain({ kafka, codec, pool, node_url: addresses.node_url });
    await watchers.untilRight(answers);
    await watchers.close();
    const { stdout, stderr } = await runOps(addresses, ['audit', '--json'], defaultSettings);
    if (stdout === '') throw new Error(stderr);
    const audited: Audited = JSON.parse(stdout);
    const unlike = await unlikeBalances(addresses.node_url, paid);
    progress('folding the logs anew into an empty database');
    const running = new Map(services.map(({ name }) => [name, processes.at(name)]));
    const elsewhere = await auditedElsewhere(stack, running);
    const searched = await searchLogs(stack.folder, secretsOf(stack, settings));
    const { sums } = audited;
    return {
      lines: [
        `log: ${chain.events} events, ${chain.repeated} of them repeated, ${chain.reverted} reverts; chain: ${chain.blocks} blocks, ${chain.transactions} transactions appended, ${chain.trips} trips`,
        `${audited.deposits} deposits, ${audited.mints} Mints; arrived ${sums.arrived}, minted ${sums.minted}, fees ${sums.fees}, held ${sums.held}; ${audited.without_effect} records without effect`,
        `checked: ${countsLine(audited.checked)}; reserve runs: ${countsLine(reserve)}`,
        `${watchers.results} results at the sockets; searched for secrets: ${searched.lines} log lines of ${searched.files.length} files`,
      ],
      violations: [
        ...chain.violations,
        ...misjudged(audited, []),
        ...miscounted(audited, { made, forged: 0, others: 0 }),
        ...unlike,
        ...Object.entries(reserve)
          .filter(([status]) => status === 'mismatch')
          .map(([status, times]) => `${times} reserve runs ended with ${status}`),
        ...elsewhere,
        ...searched.violations,
      ],
    };
  } finally {
    await pool.end();
  }
}

function allCredited(processes: Processes, made: number): Promise<void> {
  const treasury = processes.at('treasury');
  return until(
    async () => [
      await figureOf(treasury, 'treasury_mints_total', 'MintCredited'),
      await figureOf(treasury, 'treasury_mints_in_flight'),
    ],
    `all ${made} deposits to be credited, and no mint in flight`,
    ([credited, live]) => credited === made && live === 0,
  );
}

/** Waits for one that begins now and is ok; how many of all ended with each status. */
async function reserveRuns(pool: Pool): Promise<Readonly<Record<string, number>>> {
  const now = new Date();
  await until(async () => {
    const { rowCount } = await pool.query(
      "SELECT 1 FROM reserve.runs WHERE begun_at > $1 AND status = 'ok'",
      [now],
    );
    return (rowCount ?? 0) > 0;
  }, 'a reserve run at rest that is ok');
  const { rows } = await pool.query<{ status: string; runs: number }>(
    'SELECT status, count(*)::int AS runs FROM reserve.runs GROUP BY status ORDER BY status',
  );
  return Object.fromEntries(rows.map(({ status, runs }) => [status, runs]));
}

/** Asks the devnet's operator; false where it refuses with this status. */
export async function devnetAdmin(
  { ports }: Pick<Stack, 'ports'>,
  path: string,
  body: object,
  refusal?: number,
): Promise<boolean> {
  const response = await fetch(`http://127.0.0.1:${ports.devnet}/admin${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  if (!response.ok && response.status !== refusal) throw new Error(`${path}: ${text}`);
  return response.ok;
}
