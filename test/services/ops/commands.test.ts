import { expect, test } from 'vitest';
import { PROJECTION_NAMES } from '../../../services/ops/commands.ts';
import { PROJECTIONS } from '../../../services/projector/registry.ts';
import { opsHere } from './operator.ts';

/** The commands that people and scripts rely on, with the arguments that they need. */
const COMMANDS: Readonly<Record<string, string>> = {
  status: '',
  rebuild: 'explorer',
  verify: 'explorer',
  tail: 'chain.blocks',
  'deposit list': '',
  'deposit show': 'id',
  'deposit approve': 'id --actor alice --reason why',
  'deposit reject': 'id --actor alice --reason why',
  'reserve run': '',
  'reserve runs': '',
  'quarantine list': '',
  'quarantine skip': 'explorer --actor alice --reason why',
  audit: '',
  asyncapi: '',
  completion: 'bash',
};
const NAMES = Object.keys(COMMANDS);
const GROUPS = ['deposit', 'reserve', 'quarantine'];

test('the help of each level lists its commands', async () => {
  const listed: string[] = [];
  for (const group of ['', ...GROUPS]) {
    const { code, stdout, stderr } = await opsHere(`${group} --help`);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const names = [...stdout.matchAll(/^ {2}npm run ops -- ([a-z]+(?: [a-z]+)*)/gm)];
    listed.push(...names.map(([, name = '']) => name));
  }
  expect(listed.filter((name) => !GROUPS.includes(name)).toSorted()).toEqual(NAMES.toSorted());
});

test.each(NAMES)('%s --help shows its arguments and the shared options', async (command) => {
  const { code, stdout, stderr } = await opsHere(`${command} --help`);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(new RegExp(`^npm run ops -- ${command}\\b`));
  expect(stdout).toMatch(/--json[\s\S]*--stack/);
});

test.each(NAMES)('%s refuses an unknown option and an argument too many', async (command) => {
  for (const word of ['--jsn', 'too_many']) {
    const { code, stdout, stderr } = await opsHere(`${command} ${COMMANDS[command]} ${word}`);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain(`Unknown argument: ${word.replace('--', '')}`);
    expect(stderr).toContain(`npm run ops -- ${command} --help`);
  }
});

test.each([
  ['statsu', 'did you mean status?'],
  ['deposit lst', 'did you mean list?'],
  ['audit --jsn', 'did you mean --json?'],
  ['tail chain.blocks --follow', 'did you mean --no-follow?'],
  ['deposit list --reason why', 'Unknown argument: reason'],
  ['deposit list --limit', 'Not enough arguments following: limit'],
  ['deposit list --limit 101', '--limit is a whole number from 1 to 100'],
  ['deposit list --limit 1 --limit 2', '--limit is given twice'],
  ['deposit list --status lost', 'Choices: "confirmed"'],
  ['deposit show this_one', 'that is no id of a deposit'],
  ['deposit approve id --actor alice', 'Missing required argument: reason'],
  ['rebuild explore', 'Choices: "explorer"'],
  ['rebuild explorer --rollback --afresh', 'mutually exclusive'],
  ['tail chain.blocks --from 1 --last 2', 'mutually exclusive'],
  ['tail chain.blocks --from yesterday', '--from is an offset, a time like'],
  ['tail chain.blocks --where amount>', 'here a value is expected'],
  ['tail chain.blocks --header source', '--header is name=value'],
  ['tail chain.blocks --partition one', '--partition is a whole number'],
  ['constructor', 'Unknown argument: constructor'],
])('"%s" is refused: %s', async (words, problem) => {
  const { code, stdout, stderr } = await opsHere(words);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toContain(problem);
});

test('a call without a command shows the commands', async () => {
  const { code, stderr } = await opsHere('');
  expect(code).toBe(1);
  expect(stderr).toMatch(/^a command is missing\n\nusage: npm run ops -- <command>/);
});

test('missing settings are all listed', async () => {
  const { code, stderr } = await opsHere('status --stack /nowhere/stack.json');
  expect(code).toBe(1);
  expect(stderr).toMatch(
    /APP_KAFKA_BROKERS is not set[\s\S]*APP_POSTGRES_READER_URL is not set[\s\S]*APP_NODE_URL is not set/,
  );
});

test('every projection can be rebuilt and verified by its name', () => {
  expect(PROJECTION_NAMES).toEqual(PROJECTIONS.map(({ name }) => name));
});

test.each(['bash', 'zsh'])('the completion script for %s defines ops', async (shell) => {
  const { code, stdout } = await opsHere(`completion ${shell}`);
  expect(code).toBe(0);
  expect(stdout).toMatch(new RegExp(`^ops\\(\\) \\{ SHELL=${shell} .*main\\.ts' "\\$@"; \\}`));
  expect(stdout).toMatch(shell === 'zsh' ? /^#compdef ops/m : /^complete .* ops$/m);
});

test('options and choices are completed', async () => {
  const options = await opsHere('--get-yargs-completions ops deposit list --');
  expect(options.stdout).toContain('--status');
});
