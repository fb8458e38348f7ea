import { readdirSync, readFileSync } from 'node:fs';
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

/** Files with commands that a person is told to type: pages, alerts, and messages. */
function filesWithCommands(): readonly string[] {
  const sources = ['services', 'infra'].flatMap((folder) =>
    readdirSync(join(checkout, folder), { recursive: true, encoding: 'utf8' }).map((file) =>
      join(folder, file),
    ),
  );
  return [
    ...documentPaths(),
    ...sources.filter(
      (file) => /\.(tsx?|yml|sh)$/.test(file) && !/node_modules|-dist|\bconsole\/dist/.test(file),
    ),
  ];
}

/** The rest of the line that is one command. */
const END_OF_COMMAND = /[`;|&()]|: /;

interface Named {
  readonly path: string;
  readonly words: readonly string[];
  readonly options: readonly string[];
}

function commandsNamed(path: string): readonly Named[] {
  const text = read(path).replaceAll(/\$\{[^}]*\}/g, 'X');
  return [...text.matchAll(/(?:`|npx |\brun --rm |[(,:;'] ?|then |with )ops +([a-z-]+)(.*)/gm)].map(
    ([, name = '', line = '']) => {
      const rest = line.split(END_OF_COMMAND)[0] ?? '';
      const [more = ''] = /^ +[a-z][a-z-]*\b(?!\.)/.exec(rest) ?? [];
      const options = [...rest.matchAll(/(?<= )--[a-z][a-z-]*/g)].map(([option]) => option);
      return { path, words: [name, ...(more === '' ? [] : [more.trim()])], options };
    },
  );
}

/** Undefined: there is no such command. */
async function helpOf(words: readonly string[]): Promise<string | undefined> {
  const { code, stdout } = await opsHere(['help', ...words]);
  return code === 0 ? stdout : undefined;
}

test('every command and option of ops that a page, an alert or a message names exists', async () => {
  const named = filesWithCommands().flatMap(commandsNamed);
  expect(named.length).toBeGreaterThan(200);
  expect(await helpOf(['restrat'])).toBeUndefined();
  const helps = new Map<string, Promise<string | undefined>>();
  const unknown: Named[] = [];
  for (const each of named) {
    const { words, options } = each;
    if (words[0] === 'help') continue;
    const key = words.join(' ');
    const help = helps.get(key) ?? helpOf(words);
    helps.set(key, help);
    const text = await help;
    if (text === undefined || options.some((option) => !text.includes(option))) unknown.push(each);
  }
  expect(unknown).toEqual([]);
});

test('every npm script that a page, an alert or a message names exists', async () => {
  const { scripts }: { readonly scripts: object } = JSON.parse(read('package.json'));
  const named = filesWithCommands().flatMap((path) =>
    [...read(path).matchAll(/npm run ([a-z][a-z:]*[a-z])/g)].map(([, script = '']) => ({
      path,
      script,
    })),
  );
  expect(named.length).toBeGreaterThan(50);
  expect(named.filter(({ script }) => !Object.hasOwn(scripts, script))).toEqual([]);
});

test('the page of monitoring names the port of each service', () => {
  const page = read('docs/operations/monitoring.md');
  const rows = services.map(({ name, ops_port: port }) => `| ${name} | ${defaultPorts[port]} |`);
  expect(rows.filter((row) => !page.includes(row))).toEqual([]);
});
