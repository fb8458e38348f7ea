/** `ops audit`: whether the money is right, by the logs alone. */
import { parseTronAddress } from '../../../schemas/tron-address.ts';
import { openCodec } from '../../runtime/kafka/codec.ts';
import {
  httpUrl,
  list,
  postgresUrl,
  readConfig,
  type Setting,
} from '../../runtime/process/config.ts';
import { openKafka } from '../../runtime/kafka/client.ts';
import { openLog } from '../../runtime/process/log.ts';
import { openReader } from '../../runtime/postgres/pool.ts';
import { AUDITED_TOPICS, auditLogs, type Audited } from './audit-logs.ts';
import { INVARIANTS, type Invariant } from './findings.ts';
import { environmentOf } from '../config.ts';
import { readArguments, refuseWords } from '../usage.ts';

const USAGE = `usage: npm run ops -- audit [--json] [--help]

Reads deposit.addresses, tron.transfers, treasury.ledger, chain.blocks and reserve.runs from offset 0 and checks the invariants of the money:

${Object.entries(INVARIANTS)
  .map(([name, text]) => `  ${name}  ${text}`)
  .join('\n')}

Exits 0 when all hold, 1 when it was asked wrongly, 2 with the first violation and its topic, partition and offset, or when something did not answer.

  --json    JSON instead of text
  --stack   the stack file to take addresses from where no APP_... variable gives them; default .local/stack.json, in APP_LOCAL_DIR where that is set
`;

const USDT_CONTRACT: Setting<Buffer> = {
  name: 'APP_USDT_CONTRACT',
  expected: 'the address of the USDT contract, base58',
  secret: false,
  read: parseTronAddress,
};

const SETTINGS = {
  kafka_brokers: list('APP_KAFKA_BROKERS'),
  registry_url: httpUrl('APP_REGISTRY_URL'),
  postgres_reader_url: postgresUrl('APP_POSTGRES_READER_URL'),
  usdt_contract: USDT_CONTRACT,
} as const;

const OPTIONS = {
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
  stack: { type: 'string' },
} as const;

/** `args` are those behind `audit`. The exit code. */
export async function audit(args: readonly string[], stackFile: string): Promise<number> {
  const { values, positionals } = readArguments(args, OPTIONS, USAGE);
  if (values.help) {
    process.stdout.write(USAGE);
    return 0;
  }
  refuseWords('audit', positionals, USAGE);
  const config = readConfig(
    environmentOf(process.env, values.stack ?? stackFile, SETTINGS),
    SETTINGS,
  );
  const log = openLog({ service: 'ops', level: 'fatal' });
  const kafka = openKafka({ ...config, client_id: 'ops' }, log);
  const codec = await openCodec(config.registry_url, AUDITED_TOPICS);
  const reader = openReader(
    { ...config, application_name: 'ops', statement_timeout_ms: 120_000, connections_max: 1 },
    log,
  );
  try {
    const audited = await auditLogs({
      kafka,
      codec,
      reader,
      usdt_contract: config.usdt_contract,
      say,
    });
    process.stdout.write(`${values.json ? auditJson(audited) : auditText(audited)}\n`);
    return audited.findings.violationCount === 0 ? 0 : 2;
  } finally {
    await reader.close();
  }
}

function auditText({
  findings,
  read,
  deposits,
  mints,
  waiting,
  without_effect,
  sums,
  compared,
}: Audited): string {
  const names = Object.keys(INVARIANTS).filter((name): name is Invariant => name in INVARIANTS);
  const broken = new Set(findings.violations.map(({ invariant }) => invariant));
  const lines = [
    ...read.map(
      ({ topic, partition, end }) => `read      ${topic}/${partition}: offsets 0 to ${end}`,
    ),
    `deposits  ${deposits}, ${waiting} transfers wait to be decided; ${without_effect} records of the ledger without effect; ${mints} Mints final`,
    `sums      arrived ${sums.arrived}, minted ${sums.minted}, fees ${sums.fees}, held ${sums.held} (micro-USDT)`,
    ...names.map(
      (name) =>
        `${name}  ${broken.has(name) ? 'BROKEN' : 'holds '}  ${findings.checked[name]} checked: ${INVARIANTS[name]}`,
    ),
  ];
  if (!compared) lines.push('I8        there is no read model of deposits to compare');
  const [first] = findings.violations;
  if (first !== undefined) {
    const { topic, partition, offset, invariant, what } = first;
    lines.push(
      `VIOLATED  ${invariant} at ${topic}/${partition}@${offset}: ${what}${findings.violationCount === 1 ? '' : ` (the first of ${findings.violationCount})`}`,
    );
  }
  return lines.join('\n');
}

function auditJson({
  findings: { checked, violations, violationCount },
  ...rest
}: Audited): string {
  const whole = { ...rest, checked, violations, violation_count: violationCount };
  return JSON.stringify(whole, (_key, value: unknown) =>
    typeof value === 'bigint' ? value.toString() : value,
  );
}

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}
