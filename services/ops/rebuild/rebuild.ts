/** `ops rebuild` and `ops verify`: a projection's tables against its log. */
import { constants, setPriority } from 'node:os';
import { PROJECTIONS } from '../../projector/registry.ts';
import { LogLost } from '../../runtime/kafka/position.ts';
import { topicsOf } from '../../projector/engine/quarantine.ts';
import type { Difference } from '../../projector/rebuild/compare.ts';
import {
  rebuild as rebuildTables,
  rollback,
  type RebuildOptions,
  type RebuildRefusal,
  type RebuildStep,
} from '../../projector/rebuild/rebuild.ts';
import { verify as verifyTables, type Verified } from '../../projector/rebuild/verify.ts';
import { openDecoder } from '../../runtime/kafka/codec.ts';
import { KAFKA, POSTGRES, readSettings, REGISTRY } from '../config.ts';
import { jsonOf, kafkaOf, LOG, print, stopAtSignals } from '../connections.ts';
import { openProgress } from '../progress.ts';
import { Misuse, type SharedArguments } from '../usage.ts';

interface ProjectionArguments extends SharedArguments {
  readonly projection: string;
  readonly afresh: boolean | undefined;
  readonly pace: string | undefined;
}

/** The arguments, with the share of the time that `--pace` says. */
type Paced = Omit<ProjectionArguments, 'pace'> & Pick<RebuildOptions<never>, 'pace'>;

export async function rebuild(
  args: ProjectionArguments & { readonly rollback: boolean | undefined },
): Promise<number> {
  const begun = performance.now();
  const { projection } = args;
  const work = args.rollback === true ? rollback : rebuildTables;
  const rebuilt = await withProjection(paced(args), work);
  const seconds = Math.round(performance.now() - begun) / 1_000;
  const { version, kept_version: keptVersion, records } = rebuilt;
  print(
    args.json === true
      ? jsonOf({ step: 'done', projection, ...rebuilt, seconds })
      : `${projection} is read from other tables now (version ${version}), ${records} records folded in ${seconds} s\nthe previous ones (version ${keptVersion}) are kept: ops rebuild ${projection} --rollback puts them back`,
  );
  return 0;
}

/** The exit code: 2 when the projection is not what its log says. */
export async function verify(args: ProjectionArguments): Promise<number> {
  const given = paced(args);
  if (args.projection === 'all') return verifyAll(given);
  const result = await verifyOne(given);
  print(args.json === true ? jsonOf(result.json) : result.text);
  return result.json.equal ? 0 : 2;
}

/** Verifies every projection in turn; a refused one, not loaded yet, does not end the others. */
async function verifyAll(args: Paced): Promise<number> {
  const results: object[] = [];
  let code = 0;
  for (const { name: projection } of PROJECTIONS) {
    const result = await verifyOne({ ...args, projection }).catch((error: unknown) => {
      if (!(error instanceof Misuse)) throw error;
      const { code: refused, message } = error;
      return { text: message, json: { projection, equal: undefined, error: refused, message } };
    });
    const { equal } = result.json;
    code = Math.max(code, equal === undefined ? 1 : equal ? 0 : 2);
    results.push(result.json);
    if (args.json !== true) print(result.text);
  }
  if (args.json === true) print(jsonOf(results));
  return code;
}

async function verifyOne(args: Paced) {
  const { projection } = args;
  const verified = await withProjection(args, verifyTables);
  const { version, positions, tables, rewritten } = verified;
  const offsets = Object.fromEntries(positions);
  const equal = isEqual(verified);
  const json = { step: 'done', projection, version, equal, positions: offsets, tables, rewritten };
  return { json, text: verifiedText(projection, verified) };
}

function isEqual({ tables, rewritten }: Verified): boolean {
  return rewritten.length === 0 && tables.every(({ difference }) => difference === undefined);
}

export function verifiedText(name: string, verified: Verified): string {
  const { positions, tables, rewritten } = verified;
  const width = Math.max(...tables.map(({ table }) => table.length));
  const [first] = tables.flatMap(({ table, difference }) =>
    difference === undefined ? [] : [`first        ${differenceText(table, difference)}`],
  );
  return [
    ...[...positions].map(([partition, next]) => `position     ${partition} up to ${next}`),
    ...tables.map(({ table, rows, digest, difference }) => {
      const state = difference === undefined ? 'equal  ' : 'DIFFERS';
      return `${state}      ${table.padEnd(width)}  ${String(rows).padStart(11)} rows  ${digest}`;
    }),
    ...rewritten.map(
      (partition) =>
        `REWRITTEN    ${partition} has other records than the checkpoint of ${name} says: where other projections of it are equal, the checkpoint was changed, and npx ops rebuild ${name} puts it right; else look for who wrote to the log (npx ops audit), and restore it before any rebuild`,
    ),
    ...(first === undefined ? [] : [first]),
    ...(first === undefined || rewritten.length > 0
      ? []
      : [`${name} is not what its log says: npx ops rebuild ${name} puts it right`]),
    ...(isEqual(verified) ? [`${name} is what its log says`] : []),
  ].join('\n');
}

function differenceText(table: string, { key, column, live, fresh }: Difference): string {
  const row = Object.entries(key)
    .map(([name, value]) => `${name} ${value ?? 'null'}`)
    .join(', ');
  const where = row === '' ? table : `${table}, row ${row}`;
  if (column !== undefined)
    return `${where}: ${column} is ${live ?? 'null'}, by the log ${fresh ?? 'null'}`;
  if (live === undefined) return `${where}: missing, by the log there is ${fresh}`;
  return fresh === undefined
    ? `${where}: there is ${live}, by the log there is none`
    : `${where}: ${live}, by the log ${fresh}`;
}

/** Runs a rebuild or a verification until it ends or a signal stops it. Throws `Misuse`. */
async function withProjection<Result extends object>(
  args: Paced,
  work: <Event extends { readonly type: string }>(
    options: RebuildOptions<Event>,
  ) => Promise<Result | RebuildRefusal>,
): Promise<Result> {
  const { projection: name, afresh = false, stack, pace } = args;
  const named = PROJECTIONS.find((each) => each.name === name);
  if (named === undefined) throw new Misuse(`there is no projection ${name}`);
  const config = readSettings({ ...KAFKA, ...REGISTRY, ...POSTGRES }, stack);
  // gateways and projectors of this machine come first
  if (pace !== 1) setPriority(constants.priority.PRIORITY_LOW);
  const { signal } = stopAtSignals();
  const progress = openProgress(args);
  const onStep = (step: RebuildStep): void =>
    progress.show(`${name}: ${stepText(step)}`, partOf(step));
  const outcome = await named
    .with(async (projection) => {
      const kafka = kafkaOf(config);
      const codec = await openDecoder(config, { kafka }, topicsOf(projection), projection.unread);
      return work({
        postgres_url: config.postgres_url,
        postgres_reader_role: config.postgres_reader_role,
        projection,
        kafka,
        codec,
        log: LOG,
        signal,
        onStep,
        afresh,
        ...(pace === undefined ? {} : { pace }),
      });
    })
    .catch((error: unknown) => {
      if (!(error instanceof LogLost)) throw error;
      throw new LogLost(error.message, error.remedyFor(name));
    })
    .finally(() => progress.end());
  if ('refused' in outcome) throw new Misuse(outcome.message, outcome.refused);
  return outcome;
}

/** Throws `Misuse`. */
function paced({ pace, ...args }: ProjectionArguments): Paced {
  return pace === undefined ? args : { ...args, pace: paceOf(pace) };
}

/** The share of the time that `--pace` says. Throws `Misuse`. */
export function paceOf(text: string): number {
  if (text === 'full') return 1;
  const percentage = Number(/^(\d{1,3})%?$/.exec(text)?.[1] ?? 0);
  if (percentage < 1 || percentage > 100)
    throw new Misuse(`--pace is full, or a percentage from 1 to 100, not ${text}`);
  return percentage / 100;
}

/** The part of the records that are folded; undefined where records do not tell. */
function partOf({ step, records, records_behind: recordsBehind }: RebuildStep): number | undefined {
  const all = records + Number(recordsBehind);
  return step === 'loading' && all > 0 ? records / all : undefined;
}

export function stepText(progress: RebuildStep): string {
  const { step, what = '', records, records_behind: recordsBehind } = progress;
  const { records_per_second: recordsPerSecond, seconds_left: secondsLeft } = progress;
  const speed = recordsPerSecond === undefined ? '' : `, ${recordsPerSecond} a second`;
  const time =
    secondsLeft === undefined || recordsBehind === 0n ? '' : `, about ${secondsLeft} s left`;
  switch (step) {
    case 'loading':
      return `loading, ${records} records folded, ${recordsBehind} to go${speed}${time}`;
    case 'indexing':
      return what === '' ? step : `${step}: ${what}`;
    case 'catching_up':
      return `catching up, ${recordsBehind} records behind${speed}`;
    case 'switching':
    case 'comparing':
      return step;
  }
}
