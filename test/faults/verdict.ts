/**
 * The verdict at the end of a fault run: `ops verify` folds the logs anew and compares every table,
 * `ops audit` checks the logs. Beside them stands what no log knows: the node, the payments and the
 * addresses that were made and handed out, the records that were forged, and the processes' output.
 */
import { toHex } from '../../schemas/address.ts';
import type { Topic } from '../../schemas/topics.ts';
import { parseTronAddress } from '../../schemas/tron-address.ts';
import type { Invariant } from '../../services/ops/audit/findings.ts';
import { PROJECTIONS } from '../../services/projector/registry.ts';
import { readEnds } from '../../services/projector/engine/progress.ts';
import { readLogEnds } from '../../services/runtime/kafka/ends.ts';
import { readLogEvents } from '../../services/runtime/kafka/log-events.ts';
import { openCodec } from '../support/codec.ts';
import { accountAt } from '../support/deposit-log.ts';
import { until } from '../support/until.ts';
import type { Depositors } from './depositors.ts';
import { countsLine, recoveryLines, type FaultReport } from './fault-run.ts';
import { runOps, type OpsEnded } from './ops-run.ts';
import type { DepositRow } from './payments.ts';
import { searchLogs, secretsIn } from './secrets.ts';
import type { Planted } from './stranger.ts';
import { CHAIN_SCHEMAS, type ChainSchema, type Place, type System } from './system.ts';

/** The output of `ops audit --json`. */
export interface Audited {
  readonly deposits: number;
  readonly mints: number;
  readonly waiting: number;
  readonly without_effect: number;
  readonly sums: Readonly<Record<'arrived' | 'minted' | 'fees' | 'held', string>>;
  readonly checked: Readonly<Record<Invariant, number>>;
  readonly violations: readonly {
    readonly invariant: Invariant;
    readonly topic: string;
    readonly partition: number;
    readonly offset: string;
    readonly what: string;
  }[];
}

/** The output of `ops verify all --json`, of one projection. */
interface Verified {
  readonly projection: string;
  /** undefined: it is not loaded */
  readonly equal?: boolean;
  readonly tables?: readonly {
    readonly table: string;
    readonly rows: string;
    /** undefined: equal */
    readonly difference?: unknown;
  }[];
}

export interface SystemReport extends FaultReport {
  /** how often each was struck */
  readonly struck: Readonly<Record<string, number>>;
  readonly reorganisations: number;
  readonly audited: Audited;
  /** rows of each table, by `projection.table` */
  readonly rows: Readonly<Record<string, number>>;
  /** records of each log that was counted, by event, and how many of all have no effect */
  readonly logs: readonly LogFigures[];
  /** files that were searched for secrets */
  readonly log_files: readonly string[];
}

export interface LogFigures {
  readonly topic: string;
  readonly records: Readonly<Record<string, number>>;
  readonly events: number;
  /** stand at another offset than they were written for */
  readonly dead: number;
}

interface Judged {
  /** whose tables are compared with the logs: each has to be loaded */
  readonly projections: readonly string[];
  /** forged records that the audit has to find, or cannot */
  readonly planted?: readonly Planted[];
  /** of these, deposits */
  readonly forged?: number;
  /** Mints of nobody's deposit */
  readonly others?: number;
  /** users, who were told addresses */
  readonly depositors?: Depositors;
  /** topics of one partition whose records are counted */
  readonly counted?: readonly Topic[];
}

/** Ends the traffic, waits until all payments are credited, and stops the chain. */
export async function comesToRest(
  system: System,
  schemas: readonly ChainSchema[] = CHAIN_SCHEMAS,
): Promise<void> {
  await system.admin('/traffic', { transactions_per_second: 0 });
  await system.allCredited();
  await standsStill(system, schemas);
}

/** Stops the chain, and waits until the tables show its last block. */
export async function standsStill(system: System, schemas: readonly ChainSchema[]): Promise<void> {
  await system.admin('/clt/auto', { enabled: false });
  const { head, finalized_height } = await system.node.chain();
  const last = `${head.hash.toString('hex')} ${finalized_height}`;
  for (const schema of schemas)
    await until(
      async () => {
        const [row] = await system.rows<{ last: string }>(
          `SELECT encode(hash, 'hex') || ' ' || finalized_height AS last FROM ${schema}.head`,
        );
        return row?.last ?? '';
      },
      `${schema} at rest at ${last}`,
      (seen) => seen === last,
    );
}

/** Nothing is paid or struck any more, and the chain stands still. */
export async function verdict(system: System, judged: Judged): Promise<SystemReport> {
  const { place, payments, progress } = system;
  const { projections, planted = [], forged = 0, others, depositors, counted = [] } = judged;
  progress('at rest: ops verify and ops audit');
  if (projections.includes('deposits')) await projected(system, 'deposits');
  const verified = await verify(place);
  const audited = await audit(place);
  const searched = await searchLogs(place.folder, secretsIn(system));
  const logs = await Promise.all(counted.map((topic) => figuresOf(place, topic)));
  const { deposits, mints, sums } = audited;
  const rows = Object.fromEntries(
    verified.flatMap(({ projection, tables = [] }) =>
      tables.map(({ table, rows: count }) => [`${projection}.${table}`, Number(count)]),
    ),
  );
  return {
    struck: system.struck,
    reorganisations: system.reorganisations,
    audited,
    rows,
    logs,
    log_files: searched.files,
    lines: [
      `struck: ${countsLine(system.struck)}; reorganisations: ${system.reorganisations}`,
      ...[...system.recoveries].flatMap(([measured, each]) => recoveryLines(measured, each)),
      ...logs.map(
        ({ topic, records, dead }) =>
          `${topic}: ${countsLine(records)}; ${dead} records without effect`,
      ),
      `payments: ${payments.made}; deposits: ${deposits}, Mints: ${mints}; arrived ${sums.arrived}, minted ${sums.minted}, fees ${sums.fees}, held ${sums.held}; ${audited.without_effect} records without effect`,
      `ops audit checked: ${countsLine(audited.checked)}`,
      `ops verify compared rows: ${countsLine(rows)}`,
      `searched for secrets: ${searched.lines} log lines of ${searched.files.length} files`,
    ],
    violations: [
      ...system.violations,
      ...projections.flatMap((name) => differing(name, verified)),
      ...misjudged(audited, planted),
      ...(deposits === payments.made + forged &&
      (others === undefined || mints === payments.made + others)
        ? []
        : [
            `of ${payments.made} payments and ${forged} forged deposits ${deposits} are deposits, and ${mints} Mints are final`,
          ]),
      ...(projections.includes('deposits')
        ? payments.unlike(await depositRows(system), forged)
        : []),
      ...(depositors === undefined
        ? []
        : [...depositors.violations, ...(await misled(system, depositors))]),
      ...(projections.includes('explorer') ? await unlikeTheNode(system) : []),
      ...searched.violations,
    ],
  };
}

export function audit(place: Place): Promise<Audited> {
  return answerOf(place, ['audit', '--json']);
}

/** The projections that are loaded. */
function verify(place: Place): Promise<readonly Verified[]> {
  return answerOf(place, ['verify', 'all', '--json', '--pace', 'full']);
}

/** Asks again after a fault that may pass: on a busy machine a server may answer too late. */
async function answerOf<Answer>(
  { addresses, operator }: Place,
  words: readonly string[],
): Promise<Answer> {
  let ended: OpsEnded = { code: null, stdout: '', stderr: '' };
  await until(
    async () => (ended = await runOps(addresses, words, operator)),
    `an answer of ops ${words.join(' ')}`,
    ({ stdout, stderr }) => stdout !== '' || !stderr.includes('"retry":true'),
  );
  if (ended.stdout === '') throw new Error(ended.stderr);
  return JSON.parse(ended.stdout);
}

/** Shows the first row of each table that differs. */
function differing(name: string, verified: readonly Verified[]): readonly string[] {
  const found = verified.find(({ projection }) => projection === name);
  if (found?.equal === true) return [];
  const tables = found?.tables?.filter(({ difference }) => difference !== undefined);
  return [`${name} is not what its log says: ${JSON.stringify({ ...found, tables })}`];
}

/** Forged records that the audit does not find as it should, and whatever else it finds. */
export function misjudged({ violations }: Audited, planted: readonly Planted[]): readonly string[] {
  const named = new Set(violations.map((each) => `${each.invariant} at ${placeOf(each)}`));
  const places = new Set(planted.map(placeOf));
  const missed = planted
    .filter(({ found }) => found !== undefined)
    .map((each) => [each.kind, `${each.found} at ${placeOf(each)}`] as const)
    .filter(([, name]) => !named.has(name));
  return [
    ...missed.map(([kind, name]) => `the audit does not find ${kind}: ${name}`),
    ...violations
      .filter((each) => !places.has(placeOf(each)))
      .map((each) => `${each.invariant} at ${placeOf(each)}: ${each.what}`),
  ];
}

/** An offset of JSON is text. */
function placeOf({
  topic,
  partition,
  offset,
}: {
  readonly topic: string;
  readonly partition: number;
  readonly offset: bigint | string;
}): string {
  return `${topic}/${partition}@${offset}`;
}

/** Waits until a projection has applied all records of its topics. */
export async function projected(system: System, name: string): Promise<void> {
  const topics = PROJECTIONS.find((each) => each.name === name)?.topics ?? [];
  await until(async () => {
    const rows = await system.rows<{ place: string; next_offset: string }>(
      `SELECT topic || '/' || partition AS place, next_offset FROM projector.checkpoints WHERE projection = $1`,
      [name],
    );
    const reached = new Map(rows.map((row) => [row.place, BigInt(row.next_offset)]));
    const ends = await readEnds(system.place.kafka, topics);
    return [...ends].every(([key, end]) => (reached.get(key) ?? 0n) === end);
  }, `projection ${name} at the end of the log`);
}

/** Reads a whole log of one partition. */
async function figuresOf({ kafka, registry_url }: Place, of: Topic): Promise<LogFigures> {
  const codec = await openCodec(registry_url, [of]);
  const { name: topic } = of;
  const records: Record<string, number> = {};
  let [events, dead] = [0, 0];
  const { high: to } = await readLogEnds(kafka, topic, 0);
  await readLogEvents(
    { kafka, codec },
    { topic, partition: 0, from: 0n, to },
    (event, { offset }) => {
      events++;
      records[event.type] = (records[event.type] ?? 0) + 1;
      // -1: it counts anywhere
      if ('sequence' in event && event.sequence !== -1 && event.sequence !== Number(offset)) dead++;
    },
  );
  return { topic, records, events, dead };
}

function depositRows(system: System): Promise<readonly DepositRow[]> {
  return system.rows(
    'SELECT tx_id, log_index, deposit_address, gross::text FROM deposits.deposits',
  );
}

/** Each user's address must be the one that the log gives the account; the audit derives it. */
async function misled(system: System, { addresses }: Depositors): Promise<readonly string[]> {
  const rows = await system.rows<{ clt_address: Buffer; deposit_address: Buffer }>(
    'SELECT clt_address, deposit_address FROM deposits.addresses',
  );
  const given = new Map(rows.map((row) => [toHex(row.clt_address), toHex(row.deposit_address)]));
  return [...addresses].flatMap(([account, told]) => {
    const right = given.get(toHex(accountAt(account)));
    const bytes = parseTronAddress(told);
    return bytes !== undefined && right === toHex(bytes)
      ? []
      : [`account ${account} was told ${told}, by the log it has ${right}`];
  });
}

/** Accounts whose balance or nonce at the node, which keeps its state by other means, differs. */
async function unlikeTheNode(system: System): Promise<readonly string[]> {
  const rows = await system.rows<{ address: string; balance: string; nonce: string }>(
    `SELECT '0x' || encode(address, 'hex') AS address, balance::text, nonce::text FROM explorer.accounts`,
  );
  const unlike = rows.length === 0 ? ['there are no accounts'] : [];
  for (const { address, balance, nonce } of rows) {
    const response = await fetch(`${system.place.addresses.node_url}/v1/accounts/${address}`);
    const said: { readonly balance?: string; readonly nonce?: number } = Object(
      await response.json(),
    );
    if (said.balance !== balance || String(said.nonce) !== nonce)
      unlike.push(
        `account ${address}: the node says ${said.balance} and nonce ${said.nonce}, the table ${balance} and ${nonce}`,
      );
  }
  return unlike;
}
