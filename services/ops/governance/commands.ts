/** The commands about who decides, and about money outside of deposits: arguments and help. */
import { restartWith } from '../../runtime/process/config.ts';
import { DONE_BEFORE, MISSING, SIGNED, TEXT, type Commands, type Run } from '../usage.ts';

const ADDRESSES = { type: 'string', array: true, demandOption: true } as const;

export function addGovernance(commands: Commands, run: Run): void {
  addOperators(commands, run);
  addPolicy(commands, run);
  commands.command('custody', 'say where the swept USDT lies', (custody) =>
    custody
      .command(
        'set <addresses..>',
        'pin other custody addresses',
        (command) =>
          command
            .positional('addresses', { ...ADDRESSES, describe: 'addresses of TRON, all of them' })
            .options(SIGNED)
            .epilogue(
              `From then on reserve runs with other settings are refused: ${restartWith('treasury', 'APP_CUSTODY_ADDRESSES=ADDRESSES')}.`,
            ),
        run(async (args) => (await import('./decisions.ts')).custodySet(args)),
      )
      .demandCommand(1, 1, MISSING)
      .epilogue(DONE_BEFORE),
  );
  commands.command('authority', 'rotate the mint authority', (authority) =>
    authority
      .command(
        'rotate <address>',
        'let another account mint from here on, while no mint is in flight',
        (command) =>
          command
            .positional('address', {
              type: 'string',
              demandOption: true,
              describe: 'its address, 0x and 40 hex digits',
            })
            .options(SIGNED)
            .epilogue(
              `Then have the chain accept the new authority, then ${restartWith('treasury', 'APP_MINT_KEY=KEY')}.`,
            ),
        run(async (args) => (await import('./decisions.ts')).authorityRotate(args)),
      )
      .demandCommand(1, 1, MISSING)
      .epilogue(DONE_BEFORE),
  );
  commands.command('baseline', 'begin on a chain that has minted before', (baseline) =>
    baseline
      .command(
        'pin',
        'pin a final block with its supply, before the first mint, for good',
        (command) =>
          command
            .option('liability', {
              ...TEXT,
              demandOption: true,
              describe: 'the part of the supply that custody has to cover, in USDT',
            })
            .option('height', {
              ...TEXT,
              describe:
                'height of a block that was once the newest final one, so that two operators pin the same',
              defaultDescription: 'the newest final block',
            })
            .options(SIGNED)
            .epilogue(
              'Where two operators are asked for, the first command prints the one that the second operator gives.',
            ),
        run(async (args) => (await import('./decisions.ts')).baselinePin(args)),
      )
      .demandCommand(1, 1, MISSING)
      .epilogue(DONE_BEFORE),
  );
  commands.command('mint', 'stop and start all minting, and put single mints right', (mint) =>
    mint
      .command(
        'stop',
        'stop all minting at once; one operator is enough',
        (command) => command.options(SIGNED),
        run(async (args) => (await import('./decisions.ts')).mintingSet(args, false)),
      )
      .command(
        'start',
        'open minting again after a stop; two operators where two are asked for',
        (command) => command.options(SIGNED),
        run(async (args) => (await import('./decisions.ts')).mintingSet(args, true)),
      )
      .command(
        'void <id>',
        'void the mint of a deposit that no final block has: the deposit waits again',
        (command) =>
          command
            .positional('id', {
              type: 'string',
              demandOption: true,
              describe: 'the whole id of the deposit',
            })
            .options(SIGNED)
            .epilogue(
              'The treasury does this by itself for mints that its key did not make. It mints the deposit again only when final blocks show that the voided mint never comes.',
            ),
        run(async (args) => (await import('./decisions.ts')).mintVoid(args)),
      )
      .command(
        'acknowledge <hash>',
        'count a final Mint of the mint authority, so that minting goes on',
        (command) =>
          command
            .positional('hash', {
              type: 'string',
              demandOption: true,
              describe: 'hash of its transaction: chain.blocks gives the rest',
            })
            .options(SIGNED),
        run(async (args) => (await import('./decisions.ts')).mintAcknowledge(args)),
      )
      .demandCommand(1, 1, MISSING)
      .epilogue(DONE_BEFORE),
  );
  commands.command('surplus', 'book money in custody that no deposit explains', (surplus) =>
    surplus
      .command(
        'book <amount>',
        'book so much more; called again it books the amount again',
        (command) =>
          command
            .positional('amount', {
              type: 'string',
              demandOption: true,
              describe: 'in USDT, like 12.5; below 0 to take a booking back',
            })
            .options(SIGNED),
        run(async (args) => (await import('./decisions.ts')).surplusBook(args)),
      )
      .demandCommand(1, 1, MISSING)
      .epilogue('Exits 0 when done, 1 when refused, 2 when something did not answer.'),
  );
}

function addOperators(commands: Commands, run: Run): void {
  commands.command(
    ['operators', 'operator'],
    'make a key, show and set the operators whose decisions count',
    (operators) =>
      operators
        .command(
          'new-key <file>',
          'make a key, write it encrypted, print its address',
          (command) =>
            command
              .positional('file', {
                type: 'string',
                demandOption: true,
                describe: 'the file to write',
              })
              .epilogue(
                'The password is APP_OPERATOR_PASSWORD, or asked for. Nobody can restore a lost password.',
              ),
          run(async (args) => (await import('./operator-key.ts')).newKey(args)),
        )
        .command(
          'show',
          'show operators, custody, mint authority and booked money in force',
          (command) => command,
          run(async (args) => (await import('./in-force.ts')).showGovernance(args)),
        )
        .command(
          'set <addresses..>',
          'replace the list of operators, signed by one of the present list; where two are asked for, two give the same command',
          (command) =>
            command
              .positional('addresses', { ...ADDRESSES, describe: 'addresses of their keys' })
              .option('two-above', {
                ...TEXT,
                describe:
                  'in USDT: a credit above it needs two operators, and so does every decision that loosens; 0: one is enough',
                defaultDescription: 'as before',
              })
              .options(SIGNED)
              .epilogue(
                `Then give the treasury the same, which starts with no others: ${restartWith('treasury', 'APP_OPERATORS=ADDRESSES', 'APP_TWO_OPERATORS_ABOVE=MICRO_USDT')}.`,
              ),
          run(async (args) => (await import('./decisions.ts')).operatorsSet(args)),
        )
        .demandCommand(1, 1, MISSING)
        .epilogue(DONE_BEFORE),
  );
}

const LIMIT = { ...TEXT, defaultDescription: 'as before' } as const;

function addPolicy(commands: Commands, run: Run): void {
  commands.command('policy', 'show and set fees, minimum and caps', (policy) =>
    policy
      .command(
        'show',
        'show the limits in force, in USDT',
        (command) => command,
        run(async (args) => (await import('./in-force.ts')).showPolicy(args)),
      )
      .command(
        'set',
        'replace limits, in USDT: fees, minimum and single cap for deposits to come, the rolling cap at once',
        (command) =>
          command
            .options({
              'first-fee': { ...LIMIT, describe: "of an account's first deposit" },
              'later-fee': { ...LIMIT, describe: 'of each later one' },
              minimum: { ...LIMIT, describe: 'the smallest credit that is minted by itself' },
              'single-cap': { ...LIMIT, describe: 'the largest credit that is minted by itself' },
              'rolling-cap': { ...LIMIT, describe: 'of all mints within 24 hours' },
            })
            .options(SIGNED),
        run(async (args) => (await import('./decisions.ts')).policySet(args)),
      )
      .demandCommand(1, 1, MISSING)
      .epilogue(DONE_BEFORE),
  );
}
