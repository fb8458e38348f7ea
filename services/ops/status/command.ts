import type { Commands, Run } from '../usage.ts';

export function addStatus(commands: Commands, run: Run): void {
  commands.command(
    'status',
    'show the node, the log, every projection with lag and rate, and every service',
    (command) =>
      command.epilogue(
        'Exits 0 when all is well, 2 when something does not answer, is not ready or is wrong.',
      ),
    run(async (args) => (await import('./status.ts')).status(args)),
  );
}
