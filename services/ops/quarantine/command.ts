/** `ops quarantine`: records that halt a projection, and a person's decision to skip one. */
import { DECISION, MISSING, type Commands, type Run } from '../usage.ts';

const load = () => import('./quarantine.ts');

export function addQuarantine(commands: Commands, run: Run): void {
  commands.command(
    'quarantine',
    'list the records that halt a projection, and skip one',
    (quarantine) =>
      quarantine
        .command(
          'list',
          'list the records that halt a projection now, and those skipped before',
          (command) =>
            command.option('all', {
              type: 'boolean',
              describe: 'also records that the projection has applied since',
            }),
          run(async (args) => (await load()).listQuarantine(args)),
        )
        .command(
          'skip <projection>',
          'skip the record that halts a projection, for good and in every replay',
          (command) =>
            command
              .positional('projection', {
                type: 'string',
                demandOption: true,
                describe:
                  'explorer or ride_market: projections of money halt until the log is right',
              })
              .options(DECISION),
          run(async (args) => (await load()).skipRecord(args)),
        )
        .demandCommand(1, 1, MISSING)
        .epilogue(
          'A skipped record counts for nothing. After a skipped block of the chain the next block does not link to the one before, and halts the projection again.\n\n' +
            'Exits 0 when it is done or was done before, 1 when refused, 2 when something did not answer.',
        ),
  );
}
