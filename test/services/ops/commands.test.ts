import { expect, test } from 'vitest';
import { ops } from './operator.ts';

/** The commands that people and scripts rely on, each with the words behind it. */
const COMMANDS = [
  'status',
  'rebuild',
  'verify',
  'tail',
  'deposit',
  'reserve',
  'quarantine',
  'audit',
  'asyncapi',
];

/** Those of the usage, in its order. */
async function listed(): Promise<readonly string[]> {
  const { stdout } = await ops('--help');
  return [...stdout.matchAll(/^ {2}([a-z]+) {2,}\S/gm)].map(([, name = '']) => name);
}

test('every command is in the usage, and says what it takes', async () => {
  expect((await listed()).toSorted()).toEqual(COMMANDS.toSorted());
  const helped = await Promise.all(COMMANDS.map((command) => ops(command, '--help')));
  for (const [at, { code, stdout, stderr }] of helped.entries()) {
    expect({ code, stderr }, COMMANDS[at]).toEqual({ code: 0, stderr: '' });
    expect(stdout, COMMANDS[at]).toMatch(
      new RegExp(`^usage: npm run ops -- ${COMMANDS[at] ?? ''}\\b`),
    );
  }
});

/** Behind each command, words of which the last is one too many. */
const WORDS: Readonly<Record<string, readonly string[]>> = {
  rebuild: ['explorer', 'now'],
  verify: ['explorer', 'now'],
  tail: ['chain.blocks', 'now'],
  deposit: ['list', 'now'],
  reserve: ['run', 'now'],
  quarantine: ['list', 'now'],
};

test('an option that there is not and a word too many are refused by every command, with 1 and what it takes', async () => {
  for (const [words, problem] of [
    [() => ['--jsn'], /^there is no option --jsn(?:, did you mean --json\?)?$/m],
    [
      (command: string) => WORDS[command] ?? ['now'],
      /^[a-z ]+ takes no words behind it, not "now"$|^one projection at a time, |^name one topic$/m,
    ],
  ] as const) {
    const refused = await Promise.all(COMMANDS.map((command) => ops(command, ...words(command))));
    for (const [at, { code, stdout, stderr }] of refused.entries()) {
      expect({ code, stdout }, COMMANDS[at]).toEqual({ code: 1, stdout: '' });
      expect(stderr, COMMANDS[at]).toMatch(problem);
      expect(stderr, COMMANDS[at]).toMatch(
        new RegExp(`^usage: npm run ops -- ${COMMANDS[at] ?? ''}\\b`, 'm'),
      );
    }
  }
});

test('who misspells a command is asked whether another was meant; who names none sees all', async () => {
  expect(await ops('statsu')).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(/^there is no command statsu, did you mean status\?/),
  });
  expect(await ops()).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(/^a command is missing/),
  });
  expect((await ops('deposit', 'lst')).code).toBe(1);
});
