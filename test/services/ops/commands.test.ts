import { expect, test } from 'vitest';
import { ops } from './operator.ts';

/** The commands that people and scripts rely on, each with the words behind it. */
const COMMANDS = ['status', 'rebuild', 'verify', 'tail', 'deposit', 'reserve', 'quarantine', 'audit', 'asyncapi'];

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
    expect(stdout, COMMANDS[at]).toMatch(new RegExp(`^usage: npm run ops -- ${COMMANDS[at] ?? ''}\\b`));
  }
});

test('an option that there is not is refused by every command, with 1 and where to look', async () => {
  const refused = await Promise.all(COMMANDS.map((command) => ops(command, '--jsn')));
  for (const [at, { code, stdout, stderr }] of refused.entries()) {
    expect({ code, stdout }, COMMANDS[at]).toEqual({ code: 1, stdout: '' });
    expect(stderr, COMMANDS[at]).toMatch(/^there is no option --jsn(?:, did you mean --json\?)?; --help lists them$/m);
  }
});

test('who misspells a command is asked whether another was meant; who names none sees all', async () => {
  expect(await ops('statsu')).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(/^there is no command statsu, did you mean status\?/),
  });
  expect(await ops()).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(/^a command is missing/) });
  expect((await ops('deposit', 'lst')).code).toBe(1);
});
