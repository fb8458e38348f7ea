import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { PROJECTION_NAMES } from '../../../services/ops/commands.ts';
import { PROJECTIONS } from '../../../services/projector/registry.ts';
import { opsHere } from './operator.ts';

const { bin, version }: { readonly bin: { readonly ops: string }; readonly version: string } =
  JSON.parse(readFileSync(join(import.meta.dirname, '../../../package.json'), 'utf8'));

/** The commands that people and scripts rely on, with the arguments that they need. */
const COMMANDS: Readonly<Record<string, string>> = {
  status: '',
  start: 'treasury',
  stop: 'treasury',
  restart: 'treasury',
  console: '',
  rebuild: 'explorer',
  verify: 'explorer',
  tail: 'chain.blocks',
  export: 'chain.blocks --format csv',
  'deposit list': '',
  'deposit show': 'id',
  'deposit watch': '',
  'deposit approve': 'id --actor alice --reason why',
  'deposit reject': 'id --actor alice --reason why',
  'deposit release': 'id --actor alice --reason why',
  'deposit refund': 'id --tron-tx id --amount 1 --actor alice --reason why',
  'operators new-key': 'file',
  'operators show': '',
  'operators set': '0x --actor alice --reason why',
  'policy show': '',
  'policy set': '--minimum 1 --actor alice --reason why',
  'custody set': 'T --actor alice --reason why',
  'authority rotate': '0x --actor alice --reason why',
  'baseline pin': '--liability 1 --actor alice --reason why',
  'mint acknowledge': '0x --actor alice --reason why',
  'mint start': '--actor alice --reason why',
  'mint stop': '--actor alice --reason why',
  'mint void': 'x --actor alice --reason why',
  'surplus book': '1 --actor alice --reason why',
  'reserve run': '',
  'reserve runs': '',
  'quarantine list': '',
  'quarantine skip': 'chain.blocks/0@7 --actor alice --reason why',
  audit: '',
  'registry check': '',
  'registry seed': '',
  asyncapi: '',
  completion: 'bash',
};
const NAMES = Object.keys(COMMANDS);
const ID = '6db65fd5-9fd3-86f6-b291-40571b5bcd6b';
const ADDRESS = `0x${'1'.repeat(40)}`;
const TRON = 'TWer2Ygk5TEheHp3TPuYeqxmB6SsGZmaL6';
const GROUPS = [
  'deposit',
  'reserve',
  'operators',
  'policy',
  'custody',
  'authority',
  'baseline',
  'mint',
  'surplus',
  'quarantine',
  'registry',
];

test('the help of each level lists its commands', async () => {
  const listed: string[] = [];
  for (const group of ['', ...GROUPS]) {
    const { code, stdout, stderr } = await opsHere(`${group} --help`);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const names = [...stdout.matchAll(/^ {2}ops ([a-z]+(?: [a-z-]+)*)/gm)];
    listed.push(...names.map(([, name = '']) => name));
  }
  expect(listed.filter((name) => !GROUPS.includes(name)).toSorted()).toEqual(NAMES.toSorted());
});

test.each(NAMES)('%s --help shows its arguments and the shared options', async (command) => {
  const { code, stdout, stderr } = await opsHere(`${command} --help`);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(new RegExp(`^ops ${command}\\b`));
  expect(stdout).toMatch(/--json[\s\S]*--stack/);
});

test.each(NAMES)('%s refuses an unknown option and an argument too many', async (command) => {
  // a list of addresses or of deposits takes every word
  const isList = command.endsWith(' set') || /^deposit (?:approve|reject)$/.test(command);
  const words = isList && command !== 'policy set' ? [] : ['too_many'];
  for (const word of ['--jsn', ...words]) {
    const { code, stdout, stderr } = await opsHere(`${command} ${COMMANDS[command]} ${word}`);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain(`Unknown argument: ${word.replace('--', '')}`);
    expect(stderr).toContain(`ops ${command} --help`);
  }
});

test.each([
  ['statsu', 'did you mean status?'],
  ['deposit lst', 'did you mean list?'],
  ['help statsu', 'ops has no command statsu, did you mean status?'],
  ['help deposit lst', 'ops deposit has no command lst, did you mean list?'],
  ['rebuild explorr', 'did you mean explorer?'],
  ['audit --jsn', 'did you mean --json?'],
  ['tail chain.blocks --follow', 'did you mean --no-follow?'],
  ['deposit list --reason why', 'Unknown argument: reason'],
  ['deposit list --limit', 'Not enough arguments following: limit'],
  ['deposit list --limit 10001', '--limit is a whole number from 1 to 10000'],
  ['deposit list --limit 1 --limit 2', '--limit is given twice'],
  ['deposit list --status lost', 'Choices: "confirmed"'],
  ['deposit list --account alice', '--account is an address of CLT'],
  ['deposit show this_one', 'that is no id of a deposit'],
  ['deposit approve 6db65fd5 --actor a --reason b', 'that is no id of a deposit'],
  ['deposit reject --actor a --reason b', 'no deposit is meant: give ids, or a filter'],
  [`deposit approve ${ID} too_many --actor a --reason b`, 'that is no id of a deposit'],
  [`deposit reject ${ID} --below 1 --actor a --reason b`, 'ids and filters are given'],
  ['deposit reject --below 1e-2 --actor a --reason b', '--below is an amount in USDT'],
  ['deposit reject --older-than 1w --actor a --reason b', '--older-than is a time in minutes'],
  ['deposit reject --account alice --actor a --reason b', '--account is an address of CLT'],
  ['deposit approve id --actor alice', 'Missing required argument: reason'],
  ['deposit approve id --actor a --reason b --key-file', 'Not enough arguments'],
  [`deposit refund ${ID} --tron-tx 12 --amount 1 --actor a --reason b`, '--tron-tx is the id of'],
  [
    `deposit refund ${ID} --tron-tx ${'0'.repeat(64)} --amount 1.1234567 --actor a --reason b`,
    '--amount is an amount in USDT, like 12.5, not "1.1234567"',
  ],
  ['operator show --reason why', 'Unknown argument: reason'],
  ['operators set --actor a --reason b', 'an argument is missing'],
  ['operators set 0x12 --actor a --reason b', '"0x12" is no address: 0x and 40 hex digits'],
  [`operators set ${ADDRESS} --two-above all --actor a --reason b`, '--two-above is an amount'],
  ['operators set-key', 'did you mean'],
  ['custody set TXYZ --actor a --reason b', '"TXYZ" is no address of TRON in base58'],
  ['authority rotate alice --actor a --reason b', '"alice" is no address'],
  [`custody set ${TRON} --usdt-contract ${TRON} --actor a --reason b`, 'usdt-contract'],
  ['baseline pin --actor a --reason b', 'Missing required argument: liability'],
  [
    'baseline pin --liability 1 --height -1 --actor a --reason b',
    '--height is the height of a block, a whole number, not "-1"',
  ],
  ['mint acknowledge 0x12 --actor a --reason b', '"0x12" is no hash of a transaction'],
  ['surplus book much --actor a --reason b', 'the amount is an amount in USDT'],
  ['policy set --actor a --reason b', 'no limit is given'],
  ['policy set --minimum 1e6 --actor a --reason b', '--minimum is an amount in USDT'],
  [`authority rotate ${ADDRESS} --actor a`, 'Missing required argument: reason'],
  [
    `authority rotate ${ADDRESS} --actor a --reason b --key-file /nowhere/key`,
    '/nowhere/key cannot be read',
  ],
  ['rebuild explore', 'Choices: "explorer"'],
  ['rebuild explorer --rollback --afresh', 'mutually exclusive'],
  ['tail chain.blocks --from 1 --last 2', 'mutually exclusive'],
  ['tail chain.blocks --from yesterday', '--from is an offset, a time like'],
  ['tail chain.blocks --where amount>', 'here a value is expected'],
  ['tail chain.blocks --header source', '--header is name=value'],
  ['tail chain.blocks --format xml', 'Choices: "text", "json"'],
  ['export chain.blocks', 'Missing required argument: format'],
  ['export chain.blocks --format csv --out /nowhere/a.csv', 'nothing can be written in /nowhere'],
  ['tail chain.blocks --partition one', '--partition is a whole number'],
  ['constructor', 'Unknown argument: constructor'],
])('"%s" is refused: %s', async (words, problem) => {
  const { code, stdout, stderr } = await opsHere(words);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toContain(problem);
});

test.each(NAMES)('%s takes each list of its help, and each list twice', async (command) => {
  const { stdout } = await opsHere(`${command} --help`);
  const lists = [...stdout.matchAll(/--([a-z-]+)\b[^[\]]*\[array\]/g)].map(([, name = '']) => name);
  for (const name of lists) {
    const given = `--${name} 1`;
    for (const args of [given, `${given} ${given}`]) {
      const { stderr } = await opsHere(`${command} ${COMMANDS[command]} ${args}`);
      expect(stderr).not.toContain('is given twice');
    }
  }
});

test('a call without a command shows the commands', async () => {
  const { code, stderr } = await opsHere('');
  expect(code).toBe(1);
  expect(stderr).toMatch(/^a command is missing\n\nusage: ops <command>/);
});

test.each([
  'status',
  'console',
  'tail chain.blocks',
  'deposit list',
  'policy show',
  'audit',
  'rebuild explorer',
  'quarantine list',
  'registry check',
  'reserve run',
])('%s without a stack says first how to get one', async (command) => {
  const { code, stderr } = await opsHere(`${command} --stack /nowhere/stack.json`);
  expect(code).toBe(1);
  expect(stderr).toMatch(/^the stack file \/nowhere\/stack\.json does not exist: start the stack/);
});

test('deposit watch without a stack says how to get one, and what to do elsewhere', async () => {
  const { code, stderr } = await opsHere('deposit watch --stack /nowhere/stack.json');
  expect(code).toBe(1);
  expect(stderr).toMatch(/^the stack file .* lists no watcher: start the stack .* --watcher http/);
});

test('missing settings are all listed after that', async () => {
  const { stderr } = await opsHere('status --stack /nowhere/stack.json');
  expect(stderr).toMatch(
    /start the stack[^]*APP_KAFKA_BROKERS is not set[^]*APP_POSTGRES_READER_URL is not set[^]*APP_NODE_URL is not set/,
  );
});

test('a setting that is wrong is said first, and no stack is asked for', async () => {
  const { code, stderr } = await opsHere('quarantine list --stack /nowhere/stack.json', {
    APP_POSTGRES_READER_URL: 'nowhere',
  });
  expect(code).toBe(1);
  expect(stderr).toMatch(/^APP_POSTGRES_READER_URL is not /);
  expect(stderr).not.toContain('start the stack');
});

test('a file that is no stack file is named, with the remedy', async () => {
  const { code, stderr } = await opsHere(`status --stack ${import.meta.filename}`);
  expect(code).toBe(1);
  expect(stderr).toContain(`${import.meta.filename} is no stack file`);
  expect(stderr).toContain('npm run up writes one');
});

test.each([
  ['status --stack /nowhere/stack.json', 'settings'],
  [`status --stack ${import.meta.filename}`, 'no_stack_file'],
  ['statsu', 'misuse'],
  ['deposit show this_one', 'misuse'],
])('"%s --json" fails with one JSON object on stderr', async (words, error) => {
  const { code, stdout, stderr } = await opsHere(`${words} --json`);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(JSON.parse(stderr)).toMatchObject({ error, message: expect.any(String) as unknown });
});

test('a server that does not answer is a JSON error with exit code 2', async () => {
  const { code, stdout, stderr } = await opsHere('deposit list --json', {
    APP_POSTGRES_READER_URL: 'postgres://a:b@127.0.0.1:1/c',
  });
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(JSON.parse(stderr)).toMatchObject({ error: 'storage_unreachable', retry: true });
});

test('the executable runs from any folder, and prints the version alone', () => {
  const program = join(import.meta.dirname, '../../..', bin.ops);
  const printed = execFileSync(program, ['--version'], { cwd: tmpdir(), encoding: 'utf8' });
  expect(printed).toBe(`${version}\n`);
});

test('help COMMAND is COMMAND --help', async () => {
  const help = await opsHere('help deposit list');
  expect(help).toEqual(await opsHere('deposit list --help'));
  expect(help.stdout).not.toContain('deposit approve');
});

test('every projection can be rebuilt and verified by its name', () => {
  expect(PROJECTION_NAMES).toEqual(PROJECTIONS.map(({ name }) => name));
});

test.each(['bash', 'zsh'])('the completion script for %s defines ops', async (shell) => {
  const { code, stdout } = await opsHere(`completion ${shell}`);
  expect(code).toBe(0);
  expect(stdout).toMatch(
    new RegExp(`^ops\\(\\) \\{ SHELL=${shell} .*services/ops/ops' "\\$@"; \\}`),
  );
  expect(stdout).toMatch(shell === 'zsh' ? /^#compdef ops/m : /^complete .* ops$/m);
});

test('options and choices are completed', async () => {
  const options = await opsHere('--get-yargs-completions ops deposit list --');
  expect(options.stdout).toContain('--status');
});
