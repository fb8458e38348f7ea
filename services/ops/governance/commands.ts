/** The commands about who decides, and about money outside of deposits: arguments and help. */
import { MISSING, SIGNED, TEXT, type Commands, type Run } from '../usage.ts';

const ADDRESSES = { type: 'string', array: true, demandOption: true } as const;
const ONCE_DECIDED =
  'Exits 0 when it is done or was done before, 1 when refused, 2 when something did not answer.';

export function addGovernance(commands: Commands, run: Run): void {
  addOperators(commands, run);
  addPolicy(commands, run);
  commands.command('custody', 'say where the swept USDT lies', (custody) =>
    custody
      .command(
        'set <addresses..>',
        'pin other custody addresses, and the token',
        (command) =>
          command
            .positional('addresses', { ...ADDRESSES, describe: 'addresses of TRON, all of them' })
            .option('usdt-contract', {
              ...TEXT,
              describe: 'the contract of USDT',
              defaultDescription: 'as before',
            })
            .options(SIGNED)
            .epilogue(
              'From then on reserve runs with other settings are refused: change APP_CUSTODY_ADDRESSES and APP_USDT_CONTRACT of the treasury and start it again.',
            ),
        run(async (args) => (await import('./decisions.ts')).custodySet(args)),
      )
      .demandCommand(1, 1, MISSING)
      .epilogue(ONCE_DECIDED),
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
              'Then have the chain accept the new authority, set APP_MINT_KEY of the treasury to its key, and start it again.',
            ),
        run(async (args) => (await import('./decisions.ts')).authorityRotate(args)),
      )
      .demandCommand(1, 1, MISSING)
      .epilogue(ONCE_DECIDED),
  );
  commands.command('baseline', 'begin on a chain that has minted before', (baseline) =>
    baseline
      .command(
        'pin',
        'pin the newest final block with its supply, before the first mint, for good',
        (command) =>
          command
            .option('liability', {
              ...TEXT,
              demandOption: true,
              describe: 'the part of the supply that custody has to cover, in USDT',
            })
            .options(SIGNED),
        run(async (args) => (await import('./decisions.ts')).baselinePin(args)),
      )
      .demandCommand(1, 1, MISSING)
      .epilogue(ONCE_DECIDED),
  );
  commands.command('mint', 'acknowledge a Mint that the ledger did not request', (mint) =>
    mint
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
      .epilogue(ONCE_DECIDED),
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
          'replace the list of operators, signed by one of the present list',
          (command) =>
            command
              .positional('addresses', { ...ADDRESSES, describe: 'addresses of their keys' })
              .option('two-above', {
                ...TEXT,
                describe: 'in USDT: a credit above it needs two operators; 0: none does',
                defaultDescription: 'as before',
              })
              .options(SIGNED)
              .epilogue(
                'Then set APP_OPERATORS and APP_TWO_OPERATORS_ABOVE of the treasury to the same, the latter in micro-USDT, and start it again: it starts with no others.',
              ),
          run(async (args) => (await import('./decisions.ts')).operatorsSet(args)),
        )
        .demandCommand(1, 1, MISSING)
        .epilogue(ONCE_DECIDED),
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
              'first-fee': { ...LIMIT, describe: "of an address' first deposit" },
              'later-fee': { ...LIMIT, describe: 'of each later one' },
              minimum: { ...LIMIT, describe: 'the smallest credit that is minted by itself' },
              'single-cap': { ...LIMIT, describe: 'the largest credit that is minted by itself' },
              'rolling-cap': { ...LIMIT, describe: 'of all mints within 24 hours' },
            })
            .options(SIGNED),
        run(async (args) => (await import('./decisions.ts')).policySet(args)),
      )
      .demandCommand(1, 1, MISSING)
      .epilogue(ONCE_DECIDED),
  );
}
