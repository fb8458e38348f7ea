/** `ops reserve`: reconciliations of supply, ledger and custody. */
import { MISSING, type Commands, type Run } from '../usage.ts';

const load = () => import('./runs.ts');

export function addReserve(commands: Commands, run: Run): void {
  commands.command('reserve', 'reconcile now, and list reconciliations', (reserve) =>
    reserve
      .command(
        'run',
        'reconcile supply, ledger and custody now',
        (command) => command,
        run(async (args) => (await load()).makeRun(args)),
      )
      .command(
        'runs',
        'list the reconciliations, newest first',
        (command) =>
          command.option('limit', {
            type: 'string',
            requiresArg: true,
            default: '20',
            describe: 'runs at most, up to 100',
          }),
        run(async (args) => (await load()).listRuns(args)),
      )
      .demandCommand(1, 1, MISSING)
      .epilogue(
        'Exits 0 when done, 1 when called wrongly, 2 when no reconciliation is possible now.',
      ),
  );
}
