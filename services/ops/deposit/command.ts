/** `ops deposit`: deposits with their stories, and a person's decision on one. */
import { DECISION, MISSING, type Commands, type Run } from '../usage.ts';

const STATUSES = ['confirmed', 'mint_requested', 'credited', 'needs_manual'] as const;
const ID = { type: 'string', demandOption: true, describe: 'the id of the deposit' } as const;

const load = () => import('./deposits.ts');

export function addDeposit(commands: Commands, run: Run): void {
  commands.command('deposit', 'list, show, approve and reject deposits', (deposit) =>
    deposit
      .command(
        'list',
        'list deposits of one status, newest first',
        (command) =>
          command
            .option('status', {
              choices: STATUSES,
              requiresArg: true,
              default: 'needs_manual' as const,
              describe: 'the status',
            })
            .option('limit', {
              type: 'string',
              requiresArg: true,
              default: '20',
              describe: 'deposits at most, up to 100',
            }),
        run(async (args) => (await load()).listDeposits(args)),
      )
      .command(
        'show <id>',
        'show a deposit with every event, its topic, partition and offset',
        (command) => command.positional('id', ID),
        run(async (args) => (await load()).showDeposit(args)),
      )
      .command(
        'approve <id>',
        'have a held deposit minted; it still waits for the rolling cap',
        (command) => command.positional('id', ID).options(DECISION),
        run(async (args) => (await load()).decide('approve', args)),
      )
      .command(
        'reject <id>',
        'leave a held deposit unminted for good; the USDT stays in the reserve',
        (command) => command.positional('id', ID).options(DECISION),
        run(async (args) => (await load()).decide('reject', args)),
      )
      .demandCommand(1, 1, MISSING)
      .epilogue(
        'Exits 0 when it is done or was done before, 1 when refused, 2 when something did not answer.',
      ),
  );
}
