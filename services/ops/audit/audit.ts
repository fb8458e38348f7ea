/** `ops audit`: whether the money is right, by the logs alone. */
import { openCodec } from '../../runtime/kafka/codec.ts';
import { KAFKA, POSTGRES_READER, readSettings, REGISTRY, USDT } from '../config.ts';
import { jsonOf, kafkaOf, note, print, withReader } from '../connections.ts';
import type { SharedArguments } from '../usage.ts';
import { AUDITED_TOPICS, auditLogs, type AuditResult } from './audit-logs.ts';
import { INVARIANTS, type Invariant } from './findings.ts';

const STATEMENT_MS = 120_000;

export async function audit({ json, stack }: SharedArguments): Promise<number> {
  const config = readSettings({ ...KAFKA, ...REGISTRY, ...POSTGRES_READER, ...USDT }, stack);
  const { usdt_contract } = config;
  const kafka = kafkaOf(config);
  const codec = await openCodec(config.registry_url, AUDITED_TOPICS);
  const result = await withReader(
    config,
    (reader) => auditLogs({ kafka, codec, reader, usdt_contract, onProgress: note }),
    STATEMENT_MS,
  );
  print(json === true ? auditJson(result) : auditText(result));
  return result.findings.violationCount === 0 ? 0 : 2;
}

function auditText({ findings, read, deposits, mints, sums, ...rest }: AuditResult): string {
  const names = Object.keys(INVARIANTS).filter((name): name is Invariant => name in INVARIANTS);
  const broken = new Set(findings.violations.map(({ invariant }) => invariant));
  const lines = [
    ...read.map(
      ({ topic, partition, end }) => `read      ${topic}/${partition}: offsets 0 to ${end}`,
    ),
    `deposits  ${deposits}, ${rest.waiting} transfers wait to be decided; ${rest.without_effect} records of the ledger without effect; ${mints} Mints final`,
    `sums      arrived ${sums.arrived}, minted ${sums.minted}, fees ${sums.fees}, held ${sums.held} (micro-USDT)`,
    ...names.map((name) => {
      const state = broken.has(name) ? 'BROKEN' : 'holds ';
      return `${name}  ${state}  ${findings.checked[name]} checked: ${INVARIANTS[name]}`;
    }),
  ];
  if (!rest.compared) lines.push('I8        there is no read model of deposits to compare');
  const [first] = findings.violations;
  if (first !== undefined) {
    const { topic, partition, offset, invariant, what } = first;
    const all = findings.violationCount;
    lines.push(
      `VIOLATED  ${invariant} at ${topic}/${partition}@${offset}: ${what}${all === 1 ? '' : ` (the first of ${all})`}`,
    );
  }
  return lines.join('\n');
}

function auditJson({ findings, ...rest }: AuditResult): string {
  const { checked, violations, violationCount } = findings;
  return jsonOf({ ...rest, checked, violations, violation_count: violationCount });
}
