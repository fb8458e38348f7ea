import type { Commands, Run } from '../usage.ts';

const TEXT = { type: 'string', requiresArg: true } as const;
/** May be given several times. */
const TEXTS = {
  type: 'array',
  string: true,
  requiresArg: true,
  default: [] as string[],
  defaultDescription: 'all',
} as const;

export function addTail(commands: Commands, run: Run): void {
  commands.command(
    'tail <topic>',
    'show the records of a topic decoded, filtered, followed, as text or JSON lines',
    (command) =>
      command
        .positional('topic', { type: 'string', demandOption: true, describe: 'the topic' })
        .options({
          from: {
            ...TEXT,
            describe: 'first record: an offset, a time, "10m ago" (s, m, h, d), or end',
            defaultDescription: 'the beginning',
          },
          last: { ...TEXT, describe: 'the newest so many records of each partition' },
          to: { ...TEXT, describe: 'end before this offset or time' },
          'no-follow': { type: 'boolean', describe: 'end where the topic ends now' },
          limit: { ...TEXT, describe: 'end after so many records' },
          partition: { ...TEXTS, describe: 'only this partition; may be repeated' },
          key: { ...TEXTS, describe: 'only this key; may be repeated' },
          type: { ...TEXTS, describe: 'only this type of event; may be repeated' },
          header: { ...TEXTS, describe: 'only this header, name=value; may be repeated' },
          where: { ...TEXT, describe: 'only where this expression holds' },
        })
        .conflicts('from', 'last')
        .epilogue(EPILOGUE),
    run(async (args) => (await import('./tail.ts')).tail(args)),
  );
}

const EPILOGUE = `Shows the records in the order of each partition, and follows the topic until Ctrl-C, also through restarts of the brokers.

Times are like 2026-11-21T12:00:00Z, in UTC where no zone is given.
--where compares fields by = != < <= > >= contains, joined by and, or, not and parentheses. A field is one of the record (offset, time, key, type, headers.source) or of its value (amount; transactions.from is true of any of them). Numbers are compared exactly:
  --where 'type = MintIntended and (amount >= 5000000 or to = 0x7e5f...)'
--json prints one object a line: topic, partition, offset, time, key, headers, type, schema_id, value.
Amounts are decimal text, bytes 0x and hex, TRON addresses base58, times ISO 8601 in UTC. A record that cannot be decoded is shown with its bytes and the reason.

Exits 0 at the end, at Ctrl-C and when nobody reads the output any more, 1 when called wrongly, 2 when something does not answer or the log was deleted meanwhile.`;
