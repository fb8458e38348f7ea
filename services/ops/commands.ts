/** The operator's commands: arguments, options and help. Each loads its module when it runs. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import yargs from 'yargs';
import { asyncApi } from '../../schemas/asyncapi.ts';
import { INVARIANTS } from './audit/findings.ts';
import { addDeposit } from './deposit/commands.ts';
import { addGovernance } from './governance/commands.ts';
import { writeOut } from './tail/output.ts';
import { DECISION, DONE_BEFORE, MISSING, TEXT, TEXTS, type Commands, type Run } from './usage.ts';

/** The names of `PROJECTIONS`, whose modules are loaded only by the commands that work on them. */
export const PROJECTION_NAMES = [
  'explorer',
  'reserve',
  'deposits',
  'watch',
  'ride_market',
  'series',
] as const;

const PROJECTION = {
  choices: PROJECTION_NAMES,
  demandOption: true,
  describe: 'the projection',
} as const;
const PACE = {
  ...TEXT,
  describe: 'how much of the time it works while it loads: full, or a percentage from 1 to 100',
  defaultDescription: '50',
} as const;
const AFRESH = { type: 'boolean', describe: 'discard what an interrupted call has built' } as const;

export function addCommands(commands: Commands, run: Run): void {
  addStatus(commands, run);
  addParts(commands, run);
  addConsole(commands, run);
  addTail(commands, run);
  addExport(commands, run);
  addDeposit(commands, run);
  addReserve(commands, run);
  addGovernance(commands, run);
  addAudit(commands, run);
  addRebuild(commands, run);
  addQuarantine(commands, run);
  addRegistry(commands, run);
  addAsyncapi(commands, run);
  addCompletion(commands, run);
}

function addStatus(commands: Commands, run: Run): void {
  commands.command(
    'status',
    'show the node, the log, every projection with lag and rate, and every service',
    (command) =>
      command.epilogue(
        'Exits 0 when all is well, 2 when something needs a person or is not known: the first line says how many things, NEEDS ATTENTION lists them. docs/operations/monitoring.md has all checks and the settings of their thresholds.',
      ),
    run(async (args) => (await import('./status/status.ts')).status(args), true),
  );
}

/** Descriptions of the actions on a part. */
const PART_ACTIONS = {
  start: 'start a part of the local stack that has ended, was stopped or is halted',
  stop: 'drain and stop a part of the local stack until it is started again',
  restart: 'stop a part of the local stack and start it again',
} as const;

const SET = {
  ...TEXTS,
  defaultDescription: 'those with which the stack was started',
  describe:
    'NAME=VALUE: the service is started with this setting until the stack ends, empty: with its default; may be repeated',
} as const;

function addParts(commands: Commands, run: Run): void {
  for (const action of ['start', 'stop', 'restart'] as const)
    commands.command(
      `${action} <part>`,
      PART_ACTIONS[action],
      (command) =>
        command
          .positional('part', {
            type: 'string',
            demandOption: true,
            describe: 'a service or a server, as ops status and pids of stack.json name it',
          })
          .option('set', { ...SET, hidden: action === 'stop' })
          .epilogue(
            'For a stack of npm start or npm run up, a cluster too. It waits until the part that it starts is ready, and says why it is not, with its log; of a part that runs already it says whether it is ready. npm run up starts every part that is down or halted. ' +
              'Elsewhere it says what to use: docker compose, kubectl.\n\n' +
              'Exits 0 when it is done or was done before, 1 when there is no such part, no such setting or no local stack, 2 when the part did not become ready.',
          ),
      run(async (args) => (await import('./local/parts.ts')).actOnPart(action, args)),
    );
}

function addConsole(commands: Commands, run: Run): void {
  commands.command(
    'console',
    'serve a page with all of this to browsers on this machine, behind a sign-in of operators',
    (command) =>
      command
        .options({
          port: {
            ...TEXT,
            default: '17030',
            describe: 'the port that it listens on; 0: any free one',
          },
          host: {
            ...TEXT,
            default: '127.0.0.1',
            describe: 'the address that it listens on; another one is for containers alone',
          },
        })
        .epilogue(
          'The page shows services, projections, records, deposits that wait, quarantine, rebuilds and leases, and asks again each second. An operator signs in with a key, which stays in the browser or its wallet, and signs each decision with it. ' +
            'Browsers reach it as localhost only: from elsewhere through a tunnel (ssh -L, kubectl port-forward). With APP_PROMETHEUS_URL it shows the alerts of that Prometheus.\n\n' +
            'Exits 0 at Ctrl-C, 1 when called wrongly, 2 when it cannot listen.',
        ),
    run(async (args) => (await import('./console/console.ts')).opsConsole(args)),
  );
}

const FROM = {
  ...TEXT,
  describe: 'first record: an offset, a time, "10m ago" (s, m, h, d), or end',
  defaultDescription: 'the beginning',
} as const;
const TO = { ...TEXT, describe: 'end before this offset or time' } as const;
/** Which records of a range. */
const CHOSEN = {
  partition: { ...TEXTS, describe: 'only this partition; may be repeated' },
  key: { ...TEXTS, describe: 'only this key; may be repeated' },
  type: { ...TEXTS, describe: 'only this type of event; may be repeated' },
  header: { ...TEXTS, describe: 'only this header, name=value; may be repeated' },
  where: { ...TEXT, describe: 'only where this expression holds' },
  effective: {
    type: 'boolean',
    describe: 'without records that have no effect, and without reverted blocks',
  },
} as const;

function addTail(commands: Commands, run: Run): void {
  commands.command(
    'tail <topic>',
    'show the records of a topic decoded, filtered, followed, as text, JSON lines or a table',
    (command) =>
      command
        .positional('topic', { type: 'string', demandOption: true, describe: 'the topic' })
        .options({
          format: {
            choices: ['text', 'json', 'ndjson', 'csv', 'parquet'] as const,
            requiresArg: true,
            describe: 'json and ndjson are --json; csv and parquet are tables, as of export',
            defaultDescription: 'text',
          },
          from: FROM,
          last: { ...TEXT, describe: 'the newest so many records of each partition' },
          to: TO,
          'no-follow': { type: 'boolean', describe: 'end where the topic ends now' },
          limit: { ...TEXT, describe: 'end after so many records' },
          ...CHOSEN,
        })
        .conflicts('from', 'last')
        .epilogue(TAIL_EPILOGUE),
    run(async (args) => (await import('./tail/tail.ts')).tail(args)),
  );
}

const TAIL_EPILOGUE = `Shows the records in the order of each partition, and follows the topic until Ctrl-C, also through restarts of the brokers.

Times are like 2026-11-21T12:00:00Z, in UTC where no zone is given.
--where compares fields by = != < <= > >= contains, joined by and, or, not and parentheses. A field is one of the record (offset, time, key, type, headers.source) or of its value (amount; transactions.from is true of any of them). Numbers are compared exactly:
  --where 'type = MintIntended and (amount >= 5000000 or to = 0x7e5f...)'
--json prints one object a line: topic, partition, offset, time, key, headers, type, schema_id, value.
As text amounts are in CLT or USDT; in --json and --where they are in base units, a million of which are 1 CLT or 1 USDT. Bytes are 0x and hex, TRON addresses base58, TRON transactions hex, times ISO 8601 in UTC. A record that cannot be decoded is shown with its bytes and the reason.
--effective reads the partitions from their beginning to their present end first. It leaves out what their readers pass over (repeated, or written for another offset), and each block that is reverted by then, with its revert. A block that is reverted later has been shown: then its revert is shown too.
--format csv and parquet end where the topic ends now, and print the whole table then.

Exits 0 at the end, at Ctrl-C and when nobody reads the output any more, 1 when called wrongly, 2 when something does not answer or the log was deleted meanwhile.`;

function addExport(commands: Commands, run: Run): void {
  commands.command(
    'export <topic>',
    'write the records of a topic to a file, as a table or JSON lines',
    (command) =>
      command
        .positional('topic', { type: 'string', demandOption: true, describe: 'the topic' })
        .options({
          format: {
            choices: ['parquet', 'csv', 'ndjson'] as const,
            requiresArg: true,
            demandOption: true,
            describe: 'the format; ndjson is that of tail --json',
          },
          from: FROM,
          to: { ...TO, defaultDescription: 'where the topic ends now' },
          out: { ...TEXT, describe: 'the file', defaultDescription: 'standard output' },
          ...CHOSEN,
        })
        .epilogue(EXPORT_EPILOGUE),
    run(async (args) =>
      (await import('./tail/export.ts')).exportTopic({
        ...args,
        'no-follow': true,
        last: undefined,
        limit: undefined,
      }),
    ),
  );
}

const EXPORT_EPILOGUE = `A table has a row for each record: topic, partition, offset, time, key, headers, type, schema_id and effective, then a column for each field of the topic's events. A field with the name of such a column is value_ and its name. A record that cannot be decoded has error and raw instead.
effective is false of records that their readers pass over, and of reverted blocks and their reverts; --effective leaves these rows out. Both read the partitions from their beginning to their present end first. It is null in schema.ids and treasury.snapshots, which have no events.
Amounts are exact decimals in CLT or USDT, addresses and hashes text, times timestamps in UTC. Lists are nested in Parquet and JSON in CSV, where a text that a spreadsheet would compute has an apostrophe before it. JSON lines have amounts in base units, and no effective.
FILE is replaced once all is written, in a folder beside it meanwhile, which needs room for the rows too.
--where is that of tail, with amounts in base units.

Exits 0 when all is written, 1 when called wrongly, 2 when interrupted, when something does not answer or the log was deleted meanwhile.`;

function addReserve(commands: Commands, run: Run): void {
  commands.command('reserve', 'reconcile now, and list reconciliations', (reserve) =>
    reserve
      .command(
        'run',
        'reconcile supply, ledger and custody now',
        (command) => command,
        run(async (args) => (await import('./reserve/runs.ts')).makeRun(args)),
      )
      .command(
        'runs',
        'list the reconciliations, newest first',
        (command) =>
          command.option('limit', { ...TEXT, default: '20', describe: 'runs at most, up to 100' }),
        run(async (args) => (await import('./reserve/runs.ts')).listRuns(args)),
      )
      .demandCommand(1, 1, MISSING)
      .epilogue(
        'Exits 0 when done, 1 when called wrongly, 2 when no reconciliation is possible now.',
      ),
  );
}

const INVARIANT_LIST = Object.entries(INVARIANTS).map(
  ([name, text]) => `  ${name.padEnd(3)}  ${text}`,
);

const HEAD = {
  ...TEXT,
  describe:
    'a hash that an earlier audit printed (or `reserve runs --json`, as ledger_head): is it still in the logs?',
} as const;

function addAudit(commands: Commands, run: Run): void {
  commands.command(
    'audit',
    'read the logs from their beginnings and check every invariant of the money',
    (command) =>
      command
        .option('head', HEAD)
        .option('metrics', {
          ...TEXT,
          describe:
            'write when it ended, what it found and when certificates end to this file, for node_exporter',
        })
        .epilogue(
          `Reads deposit.addresses, tron.transfers, treasury.ledger, chain.blocks and reserve.runs from offset 0 and checks:\n\n${INVARIANT_LIST.join('\n')}\n\n` +
            'With APP_DEPOSIT_XPUB it derives every deposit address from that key; without, it believes those in the log.\n\n' +
            'It prints the hash of the last record of each chained log, which covers every record before it. A person who noted one gives it as --head later: the audit finds that record, and the log still begins with the same records, or says that it does not.\n\n' +
            'Where brokers do not answer while it reads a log, it goes on when they do, and ends after ten minutes without progress; at once when the log is gone or this account may not read it.\n\n' +
            'Exits 0 when all hold, 2 with the first violation of each broken invariant and its topic, partition and offset, or when something did not answer.',
        ),
    run(async (args) => (await import('./audit/audit.ts')).audit(args)),
  );
}

function addRebuild(commands: Commands, run: Run): void {
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
        .option('afresh', AFRESH)
        .option('pace', PACE)
        .conflicts('rollback', ['afresh', 'pace'])
        .epilogue(
          'Builds staging tables from the beginning of the log and switches to them in one short transaction. Projector and gateways go on meanwhile. ' +
            'A second call goes on where an interrupted one stopped. The previous tables are kept until the next rebuild. ' +
            'With --pace full it is as fast as a load, and readers wait longer meanwhile.\n\n' +
            'Exits 0 when the tables are switched, 1 when refused, also while another rebuild of the projection runs, 2 when something did not answer.',
        ),
    run(async (args) => (await import('./rebuild/rebuild.ts')).rebuild(args)),
  );
  commands.command(
    'verify <projection>',
    'fold the log of a projection again and compare every row of its tables',
    (command) =>
      command
        .positional('projection', {
          ...PROJECTION,
          choices: [...PROJECTION_NAMES, 'all'],
          describe: 'the projection, or all of them',
        })
        .option('afresh', AFRESH)
        .option('pace', PACE)
        .epilogue(
          'Folds the log into staging tables and compares every row of every table with the live ones at the same offsets, and the digest of the records with the one that the projector kept. Projector and gateways go on ' +
            'meanwhile. A second call goes on where an interrupted one stopped. With --pace full it is faster, and readers wait longer meanwhile.\n\n' +
            'Exits 0 when all is equal, 1 when refused, 2 when rows differ (the first one is shown) or records do or something did not answer.',
        ),
    run(async (args) => (await import('./rebuild/rebuild.ts')).verify(args)),
  );
}

function addQuarantine(commands: Commands, run: Run): void {
  commands.command(
    'quarantine',
    'list the records that halt a projection, and have records skipped by every reader',
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
          run(async (args) => (await import('./quarantine/quarantine.ts')).listQuarantine(args)),
        )
        .command(
          'skip <record>',
          'skip a record that no reader can apply, for good: in every service and every replay',
          (command) =>
            command
              .positional('record', {
                type: 'string',
                demandOption: true,
                describe:
                  'TOPIC/PARTITION@OFFSET as services name it, or TOPIC/PARTITION@FIRST-LAST: each record of that range that this software cannot read',
              })
              .options(DECISION),
          run(async (args) => (await import('./quarantine/quarantine.ts')).skipRecord(args)),
        )
        .demandCommand(1, 1, MISSING)
        .epilogue(
          'A skipped record counts for nothing. After a skipped block of the chain the next block does not link to the one before, and halts its readers again.\n\n' +
            DONE_BEFORE,
        ),
  );
}

function addRegistry(commands: Commands, run: Run): void {
  commands.command(
    'registry',
    'compare the schema registry with the ids that the log has pinned, and seed it',
    (registry) =>
      registry
        .command(
          'check',
          'list the pinned schema ids, and whether the registry has them',
          (command) => command,
          run(async (args) => (await import('./registry/registry.ts')).checkRegistry(args)),
        )
        .command(
          'seed',
          'register the pinned schemas that the registry lacks, under the same ids',
          (command) => command,
          run(async (args) => (await import('./registry/registry.ts')).seedRegistry(args)),
        )
        .demandCommand(1, 1, MISSING)
        .epilogue(
          'The topic schema.ids says which schema each id in the log names. A registry that has lost its data, or a part of it, gets the schemas back from there. Services that wait for it go on by themselves. A seed that was cut off leaves a part; the next one adds the rest. --timeout is also the time for each answer of the registry, by default 5 s, and 120 s for taking the schemas.\n\n' +
            'Exits 0 when the registry has every pinned schema, 2 when it does not, or when something did not answer.',
        ),
  );
}

function addAsyncapi(commands: Commands, run: Run): void {
  commands.command(
    'asyncapi',
    'print the topics as an AsyncAPI 3.0 document',
    (command) => command.epilogue('The explorer serves the same at /docs/asyncapi.json.'),
    run(async () => {
      const document = asyncApi((file) => readFileSync(file, 'utf8'));
      await writeOut(`${JSON.stringify(document, null, 2)}\n`);
      return 0;
    }),
  );
}

function addCompletion(commands: Commands, run: Run): void {
  commands.command(
    'completion [shell]',
    'print a script that defines `ops` with completion in your shell',
    (command) =>
      command
        .positional('shell', {
          choices: ['bash', 'zsh'] as const,
          describe: 'the shell of $SHELL when not given',
        })
        .epilogue('Use it now, or from ~/.bashrc or ~/.zshrc:  eval "$(npx ops completion)"'),
    run(({ shell = process.env['SHELL']?.endsWith('zsh') === true ? 'zsh' : 'bash' }) => {
      const program = join(import.meta.dirname, 'ops');
      // yargs writes for the shell of this variable
      process.env['SHELL'] = shell;
      process.stdout.write(`ops() { SHELL=${shell} '${program}' "$@"; }\n`);
      yargs().scriptName('ops').showCompletionScript();
      return Promise.resolve(0);
    }),
  );
}
