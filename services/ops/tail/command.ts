/** `ops tail <topic>`: the records of a topic, decoded, for people and for scripts. */
import { httpUrl, list, readConfig } from '../../runtime/process/config.ts';
import type { Fault } from '../../runtime/process/errors.ts';
import { openKafka } from '../../runtime/kafka/client.ts';
import { openLog } from '../../runtime/process/log.ts';
import { environmentOf } from '../config.ts';
import { watchReader, writeOut } from './output.ts';
import { findRanges, parseBound } from './range.ts';

import type { LogRecord } from '../../runtime/kafka/record.ts';
import { RecordSchemas } from './record-schemas.ts';
import { recordJson, recordText, textOf } from './record-text.ts';
import { tailLog } from './tail-log.ts';
import { BadExpression, parseWhere, type Where } from './where.ts';
import { Misuse, readArguments, type Arguments } from '../usage.ts';

const USAGE = `usage: npm run ops -- tail <topic> [options]

Shows the records of a topic, decoded, in the order of each partition, and goes on with what is appended until Ctrl-C. Brokers that restart are waited for.

  --from WHERE     an offset, a time (2026-11-21T12:00:00Z, UTC where no zone is given), "10m ago" (s, m, h, d), or end; the beginning when not given
  --last N         the newest N records of each partition, instead of --from
  --to WHERE       ends before this offset or time
  --no-follow      ends where the topic ends now
  --limit N        ends after N records
  --partition P    only of this partition; may be repeated, as the next three
  --key K          only with this key
  --type T         only events of this type, for example MintIntended
  --header N=V     only with this header
  --where EXPR     only where this holds: fields compared by = != < <= > >= contains, joined by and, or, not and parentheses.
                   A field is one of the record (offset, time, key, type, headers.source) or of its value (amount, transactions.from: any of them).
                   Numbers are compared exactly: --where 'type = MintIntended and (amount >= 5000000 or to = 0x7e5f...)'
  --json           one JSON object a line: topic, partition, offset, time, key, headers, type, schema_id, value
  --stack          the stack file to take addresses from where no APP_... variable gives them; default .local/stack.json, in APP_LOCAL_DIR where that is set

Amounts are decimal text, bytes 0x and hex, TRON's addresses base58, times ISO 8601 in UTC. What cannot be decoded is shown with its bytes and the reason.
Exits 0 at the end, at Ctrl-C and when nobody reads any more; 1 when asked wrongly; 2 when something does not answer or the log was deleted meanwhile.
`;

const OPTIONS = {
  help: { type: 'boolean', default: false },
  json: { type: 'boolean', default: false },
  stack: { type: 'string' },
  from: { type: 'string' },
  last: { type: 'string' },
  to: { type: 'string' },
  'no-follow': { type: 'boolean', default: false },
  limit: { type: 'string' },
  partition: { type: 'string', multiple: true, default: [] as string[] },
  key: { type: 'string', multiple: true, default: [] as string[] },
  type: { type: 'string', multiple: true, default: [] as string[] },
  header: { type: 'string', multiple: true, default: [] as string[] },
  where: { type: 'string' },
} as const;

const SETTINGS = {
  kafka_brokers: list('APP_KAFKA_BROKERS'),
  registry_url: httpUrl('APP_REGISTRY_URL'),
} as const;
const COUNT = /^[1-9][0-9]{0,14}$/;
const PARTITION = /^(?:0|[1-9][0-9]{0,8})$/;

type Values = Arguments<typeof OPTIONS>['values'];
type Matches = (record: LogRecord) => boolean;

/** `args` are those behind `tail`. The exit code. `write` takes the text, and says whether more is wanted; standard output when not given. */
export async function tail(
  args: readonly string[],
  stackFile: string,
  write = writeOut,
): Promise<number> {
  const { values, positionals } = readArguments(args, OPTIONS, USAGE);
  if (values.help) {
    await write(USAGE);
    return 0;
  }
  const [topic, ...more] = positionals;
  if (topic === undefined || more.length > 0) throw new Misuse('name one topic', USAGE);
  const now = Date.now();
  const asked = {
    topic,
    ...rangeOf(values, now),
    partitions: values.partition.map((text) => Number(matching('--partition', text, PARTITION))),
  };
  const limit =
    values.limit === undefined
      ? Number.POSITIVE_INFINITY
      : Number(matching('--limit', values.limit, COUNT));
  const where = values.where === undefined ? undefined : readWhere(values.where);
  const matches = filterOf(values);
  const config = readConfig(
    environmentOf(process.env, values.stack ?? stackFile, SETTINGS),
    SETTINGS,
  );
  const log = openLog({ service: 'ops', level: 'fatal' });
  const kafka = openKafka({ ...config, client_id: 'ops-tail' }, log);
  const ranges = await findRanges(kafka, asked, now);
  const schemas = new RecordSchemas(config.registry_url);
  const render = rendering({
    topic,
    schemas,
    matches,
    where,
    json: values.json,
    types: new Set(values.type),
  });
  const stopping = stopAtSignals();
  if (write === writeOut) watchReader(stopping.signal, () => stopping.abort());
  const { signal } = stopping;
  const found = await tailLog({
    kafka,
    topic,
    ranges,
    schemas,
    render,
    write,
    onFault: telling(),
    limit,
    log,
    signal,
  });
  stopping.abort();
  if (found.shown === 0 && found.read > 0 && where !== undefined && where.missing.size > 0)
    process.stderr.write(
      `none of ${found.read} records has a field ${[...where.missing].join(', ')}\n`,
    );
  return 0;
}

function rangeOf(
  values: Values,
  now: number,
): Pick<Parameters<typeof findRanges>[1], 'from' | 'to' | 'follow'> {
  const { from, last, to } = values;
  if (from !== undefined && last !== undefined)
    throw new Misuse('--from and --last exclude each other');
  const newest =
    last === undefined ? undefined : { newest: BigInt(matching('--last', last, COUNT)) };
  return {
    from: newest ?? (from === undefined ? { offset: 0n } : parseBound('--from', from, now)),
    to: to === undefined ? undefined : parseBound('--to', to, now),
    follow: !values['no-follow'],
  };
}

function matching(option: string, text: string, pattern: RegExp): string {
  if (!pattern.test(text))
    throw new Misuse(
      `${option} is a whole number${pattern === COUNT ? ' above zero' : ''}, not "${text}"`,
    );
  return text;
}

function readWhere(text: string): Where {
  try {
    return parseWhere(text);
  } catch (error) {
    if (error instanceof BadExpression) throw new Misuse(error.message);
    throw error;
  }
}

/** What can be told without decoding. */
function filterOf({ key: keys, header }: Values): Matches {
  const headers = header.map((text) => {
    const at = text.indexOf('=');
    if (at < 1) throw new Misuse(`--header is name=value, not "${text}"`);
    return [text.slice(0, at), text.slice(at + 1)] as const;
  });
  return (record) =>
    (keys.length === 0 || (record.key !== null && keys.includes(textOf(record.key)))) &&
    headers.every(([name, value]) => hasHeader(record, name, value));
}

function hasHeader(record: LogRecord, name: string, value: string): boolean {
  return [record.headers[name]].flat().some((each) => each !== undefined && textOf(each) === value);
}

interface Rendering {
  readonly topic: string;
  readonly schemas: RecordSchemas;
  readonly matches: Matches;
  readonly types: ReadonlySet<string>;
  readonly where: Where | undefined;
  readonly json: boolean;
}

function rendering({
  topic,
  schemas,
  matches,
  types,
  where,
  json,
}: Rendering): (partition: number, record: LogRecord) => string | undefined {
  return (partition, record) => {
    if (!matches(record)) return undefined;
    if (types.size > 0 && !types.has(schemas.typeOf(record.value) ?? '')) return undefined;
    const place = { topic, partition };
    const shown = schemas.show(record.value);
    if (where === undefined)
      return json ? `${recordJson(place, record, shown)}\n` : recordText(place, record, shown);
    const line = recordJson(place, record, shown);
    const parsed: object = JSON.parse(line);
    if (!where.matches(parsed)) return undefined;
    return json ? `${line}\n` : recordText(place, record, shown);
  };
}

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/** A second signal ends the process at once. */
function stopAtSignals(): AbortController {
  const stopping = new AbortController();
  const stop = (): void => stopping.abort();
  for (const signal of SIGNALS) process.once(signal, stop);
  stopping.signal.addEventListener(
    'abort',
    () => SIGNALS.forEach((signal) => process.off(signal, stop)),
    { once: true },
  );
  return stopping;
}

/** How long something may be away before a person is told. */
const SILENT_MS = 2_000;

/** Says that something is away for long, and that it is back. */
function telling(): (fault: Fault | undefined) => void {
  let since: number | undefined;
  let said = false;
  return (fault) => {
    const now = performance.now();
    if (fault !== undefined && !said && now - (since ??= now) > SILENT_MS) {
      process.stderr.write(`waiting: ${fault.message}\n`);
      said = true;
    }
    if (fault !== undefined) return;
    if (said) process.stderr.write('going on\n');
    [since, said] = [undefined, false];
  };
}
