/** `ops completion`: a function `ops` for the shell, and the completion of its words. */
import { join } from 'node:path';
import yargs from 'yargs';
import type { Commands, Run } from './usage.ts';

const SHELLS = ['bash', 'zsh'] as const;
const MAIN = join(import.meta.dirname, 'main.ts');

export function addCompletion(commands: Commands, run: Run): void {
  commands.command(
    'completion [shell]',
    'print a script that defines `ops` with completion in your shell',
    (command) =>
      command
        .positional('shell', { choices: SHELLS, describe: 'the shell of $SHELL when not given' })
        .epilogue(
          'Use it now, or from ~/.bashrc or ~/.zshrc:  eval "$(npm run --silent ops -- completion)"',
        ),
    run(({ shell = process.env['SHELL']?.endsWith('zsh') === true ? 'zsh' : 'bash' }) => {
      const node = [process.execPath, ...process.execArgv, MAIN].map((word) => `'${word}'`);
      // yargs writes for the shell of this variable
      process.env['SHELL'] = shell;
      process.stdout.write(`ops() { SHELL=${shell} ${node.join(' ')} "$@"; }\n`);
      yargs().scriptName('ops').showCompletionScript();
      return Promise.resolve(0);
    }),
  );
}
