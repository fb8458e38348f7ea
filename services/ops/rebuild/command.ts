/** `ops rebuild`: a projection's tables built anew while everybody goes on, or the earlier ones put back. */
import {
  rebuild as rebuildTables,
  rollback,
  type Rebuilt,
} from '../../projector/rebuild/rebuild.ts';
import { NAMES, projectionOf, withRebuildOptions } from './steps.ts';
import { Misuse, readArguments } from '../usage.ts';

const USAGE = `usage: npm run ops -- rebuild <projection> [--rollback | --afresh] [--json] [--help]

Builds the tables of a projection anew from the beginning of the log, beside those that are read, and puts them in their place in one short transaction.
Projector and gateways go on meanwhile. Interrupted, it goes on where it was with the next call. The earlier tables are kept until the next rebuild.
It takes one processor at a time and gives way to everybody else; so do its sessions at Postgres, where that runs on this machine and not in a container.

  <projection>  one of: ${NAMES.join(', ')}
  --rollback    puts the tables back that were kept, when they have caught up with the log; those that are read now are kept in turn
  --afresh      throws away what an interrupted call had built
  --json        JSON lines instead of text
  --stack       the stack file to take addresses from where no APP_... variable gives them; default .local/stack.json, in APP_LOCAL_DIR where that is set

Exits 0 when other tables are in place, 1 when it is refused (also while another rebuild of the projection is under way), 2 when something did not answer.
`;

const OPTIONS = {
  rollback: { type: 'boolean', default: false },
  afresh: { type: 'boolean', default: false },
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
  stack: { type: 'string' },
} as const;

/** `args` are those behind `rebuild`. The exit code. */
export async function rebuild(args: readonly string[], stackFile: string): Promise<number> {
  const { values, positionals } = readArguments(args, OPTIONS, USAGE);
  if (values.help) {
    process.stdout.write(USAGE);
    return 0;
  }
  if (values.rollback && values.afresh)
    throw new Misuse('--rollback builds nothing: leave --afresh out', USAGE);
  const named = projectionOf(positionals, USAGE);
  const begun = performance.now();
  const asked = { ...values, stack_file: values.stack ?? stackFile };
  const outcome = await withRebuildOptions(
    named,
    asked,
    values.rollback ? rollback : rebuildTables,
  );
  if ('refused' in outcome) throw new Misuse(outcome.message);
  const seconds = Math.round(performance.now() - begun) / 1_000;
  if (values.json)
    process.stdout.write(
      `${JSON.stringify({ step: 'done', projection: named.name, ...outcome, seconds })}\n`,
    );
  else process.stdout.write(`${doneText(named.name, outcome, seconds)}\n`);
  return 0;
}

function doneText(
  name: string,
  { version, kept_version: kept, records }: Rebuilt,
  seconds: number,
): string {
  return `done         ${name} is read from other tables now (version ${version}), ${records} records folded in ${seconds} s; the earlier ones (version ${kept}) are kept: ops rebuild --rollback ${name}`;
}
