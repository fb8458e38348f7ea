/** The commands about deposits: arguments and help. */
import { DECIDED_MAX } from '../../../schemas/treasury.ledger/events.ts';
import {
  DONE_BEFORE,
  Misuse,
  MISSING,
  SIGNED,
  TEXT,
  TEXTS,
  type Commands,
  type Run,
} from '../usage.ts';

const DEPOSIT_ID = {
  type: 'string',
  demandOption: true,
  describe: 'the id of the deposit',
} as const;
/** Which deposits of a status are meant. */
const FILTERS = {
  account: { ...TEXT, describe: 'only those of this account: 0x...' },
  above: { ...TEXT, describe: 'only those of more than so many USDT' },
  below: { ...TEXT, describe: 'only those of less than so many USDT' },
  'hold-reason': { ...TEXT, describe: 'only those held with this reason, like below_minimum' },
  'older-than': { ...TEXT, describe: 'only those of transfers before that: 90m, 12h or 7d' },
} as const;

/** Deposits by id or by filter, and one decision of all of them. */
function manyDeposits(command: Commands) {
  return command
    .positional('ids', {
      type: 'string',
      array: true,
      default: [] as string[],
      describe: 'the ids of the deposits',
    })
    .options({ ...FILTERS, ...SIGNED })
    .check((args) => {
      const isFiltered = Object.keys(FILTERS).some((name) => args[name] !== undefined);
      if (args.ids.length > 0 || isFiltered) return true;
      throw new Misuse('no deposit is meant: give ids, or a filter such as --below 0.01');
    })
    .epilogue(
      `Ids and filters are not given together. All deposits are decided by one record with one signature, up to ${DECIDED_MAX}. One that changed meanwhile is left out, and named. On a terminal they are shown first.\n\n${DONE_BEFORE}`,
    );
}

export function addDeposit(commands: Commands, run: Run): void {
  commands.command('deposit', 'list, show and decide deposits', (deposit) =>
    deposit
      .command(
        'list',
        'list deposits of one status, newest first; without options those that wait for a person',
        (command) =>
          command
            .option('status', {
              choices: ['confirmed', 'mint_requested', 'credited', 'needs_manual'] as const,
              requiresArg: true,
              describe: 'the status; needs_manual without those that a person has rejected',
              default: 'needs_manual' as const,
            })
            .option('rejected', {
              type: 'boolean',
              describe: 'those that a person has rejected, in place of a status',
            })
            .options(FILTERS)
            .option('limit', { ...TEXT, default: '20', describe: 'deposits at most, up to 10000' })
            .option('cursor', { ...TEXT, describe: 'those after this cursor of --json' }),
        run(async (args) => (await import('./deposits.ts')).listDeposits(args)),
      )
      .command(
        'show <id>',
        'show a deposit with every event, its topic, partition and offset',
        (command) =>
          command.positional('id', {
            ...DEPOSIT_ID,
            describe: 'the id of the deposit, or its beginning from 8 digits on',
          }),
        run(async (args) => (await import('./deposits.ts')).showDeposit(args)),
      )
      .command(
        'watch',
        "list addresses about which TRON's provider fails, undecided transfers, unexplained balances",
        (command) =>
          command
            .option('watcher', {
              ...TEXTS,
              describe: 'the address of a watcher, like http://host:17012; may be repeated',
              defaultDescription: 'those of the stack file',
            })
            .epilogue(
              'Exits 0 when every watcher has answered, 1 when called wrongly, 2 when one has not.',
            ),
        run(async (args) => (await import('./watch.ts')).watchDeposits(args)),
      )
      .command(
        'approve [ids..]',
        'have held deposits minted; they still wait for the rolling cap',
        manyDeposits,
        run(async (args) => (await import('./decisions.ts')).decideDeposits('approve', args)),
      )
      .command(
        'reject [ids..]',
        'leave held deposits unminted for good; the USDT stays in the reserve',
        manyDeposits,
        run(async (args) => (await import('./decisions.ts')).decideDeposits('reject', args)),
      )
      .command(
        'release <id>',
        'give up a mint in flight that no block takes; its deposit is rejected for good',
        (command) => command.positional('id', DEPOSIT_ID).options(SIGNED),
        run(async (args) => (await import('./decisions.ts')).releaseDeposit(args)),
      )
      .command(
        'refund <id>',
        'record that a rejected deposit was paid back by hand',
        (command) =>
          command
            .positional('id', DEPOSIT_ID)
            .options({
              'tron-tx': { ...TEXT, demandOption: true, describe: 'its transaction on TRON' },
              amount: { ...TEXT, demandOption: true, describe: 'paid back, in USDT, like 12.5' },
            })
            .options(SIGNED),
        run(async (args) => (await import('./decisions.ts')).refundDeposit(args)),
      )
      .demandCommand(1, 1, MISSING)
      .epilogue(DONE_BEFORE),
  );
}
