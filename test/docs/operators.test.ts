import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { checkout } from '../../infra/local/stack/folder.ts';
import { defaultPorts } from '../../infra/services/ports.ts';
import { services } from '../../infra/services/services.ts';
import { opsHere } from '../services/ops/operator.ts';
import { documentPaths } from '../support/documents.ts';

interface Alert {
  readonly alert: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly runbook: string };
}

const RUNBOOK = 'docs/operations/runbook.md';
const PARTS = ['Users', 'Look', 'Do', 'Over', 'Escalate'];

function read(path: string): string {
  return readFileSync(join(checkout, path), 'utf8');
}

const rules: { readonly groups: readonly { readonly rules: readonly Alert[] }[] } = parse(
  read('infra/prometheus/alerts.yml'),
);
const alerts = rules.groups.flatMap((group) => group.rules);
const entries = new Map(
  read(RUNBOOK)
    .split(/^### /m)
    .slice(1)
    .map((text) => {
      const [name = '', ...lines] = text.split('\n');
      return [name, lines.join('\n').split(/^## /m)[0] ?? ''];
    }),
);

test('the runbook has an entry for each alert, in their order, and for nothing else', () => {
  expect([...entries.keys()]).toEqual(alerts.map(({ alert }) => alert));
});

test.for(alerts)('$alert names its entry, which says all that is needed', (rule) => {
  const { alert, labels, annotations } = rule;
  expect(annotations.runbook).toBe(`${RUNBOOK}#${alert.toLowerCase()}`);
  const entry = entries.get(alert) ?? '';
  expect([...entry.matchAll(/^- \*\*(\w+)\*\*: /gm)].map(([, part]) => part)).toEqual(PARTS);
  const urgency = labels.severity === 'page' ? 'Page' : 'Ticket';
  expect(entry.trim().split('. ')[0]).toBe(urgency);
});

/** The words of the commands in the help of `ops` or of one of its groups. */
async function commandsIn(words: readonly string[]): Promise<readonly string[]> {
  const { stdout } = await opsHere([...words, '--help']);
  const line = new RegExp(`^  ${['ops', ...words].join(' ')} (\\w+)`, 'gm');
  return [...stdout.matchAll(line)].map(([, name = '']) => name);
}

test('every command of ops that a page names exists', async () => {
  const known = new Map<string, readonly string[]>();
  for (const name of await commandsIn([])) known.set(name, await commandsIn([name]));
  expect(known.get('deposit')).toContain('approve');
  const named = documentPaths().flatMap((path) =>
    [...read(path).matchAll(/(?:`|^|npx )ops +([a-z]+)(?: +([a-z]+))?/gm)].map(
      ([, name = '', more = '']) => ({ path, name, more }),
    ),
  );
  expect(named.length).toBeGreaterThan(50);
  const unknown = named.filter(({ name, more }) => {
    if (name === 'help') return false;
    const group = known.get(name);
    return group === undefined || (group.length > 0 && more !== '' && !group.includes(more));
  });
  expect(unknown).toEqual([]);
});

test('the page of monitoring names the port of each service', () => {
  const page = read('docs/operations/monitoring.md');
  const rows = services.map(({ name, ops_port: port }) => `| ${name} | ${defaultPorts[port]} |`);
  expect(rows.filter((row) => !page.includes(row))).toEqual([]);
});
