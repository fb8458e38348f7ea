/** `ops rebuild` and `ops verify`: a projection's tables against its log. */
import type { Commands, Run } from '../usage.ts';

/** Of `PROJECTIONS`, whose modules are loaded only by the commands that work on them. */
export const PROJECTION_NAMES = [
  'explorer',
  'reserve',
  'deposits',
  'watch',
  'ride_market',
] as const;

const PROJECTION = {
  choices: PROJECTION_NAMES,
  demandOption: true,
  describe: 'the projection',
} as const;
const FRESH = {
  type: 'boolean',
  describe: 'discard what an interrupted call has built',
} as const;

export function addRebuild(commands: Commands, run: Run): void {
  commands.command(
    'rebuild <projection>',
    'rebuild the tables of a projection from the log and switch to them, or back',
    (command) =>
      command
        .positional('projection', PROJECTION)
        .option('rollback', {
          type: 'boolean',
          describe: 'switch back to the previous tables once they have caught up with the log',
        })
        .option('afresh', FRESH)
        .conflicts('rollback', 'afresh')
        .epilogue(
          'Builds staging tables from the beginning of the log and switches to them in one short transaction. Projector and gateways go on meanwhile. ' +
            'A second call goes on where an interrupted one stopped. The previous tables are kept until the next rebuild.\n\n' +
            'Exits 0 when the tables are switched, 1 when refused, also while another rebuild of the projection runs, 2 when something did not answer.',
        ),
    run(async (args) => (await import('./rebuild.ts')).rebuild(args)),
  );
}

export function addVerify(commands: Commands, run: Run): void {
  commands.command(
    'verify <projection>',
    'fold the log of a projection again and compare every row of its tables',
    (command) =>
      command
        .positional('projection', PROJECTION)
        .option('afresh', FRESH)
        .epilogue(
          'Folds the log into staging tables and compares every row of every table with the live ones at the same offsets. Projector and gateways go on ' +
            'meanwhile. A second call goes on where an interrupted one stopped.\n\n' +
            'Exits 0 when all rows are equal, 1 when refused, 2 when rows differ (the first one is shown) or something did not answer.',
        ),
    run(async (args) => (await import('./verify.ts')).verify(args)),
  );
}
