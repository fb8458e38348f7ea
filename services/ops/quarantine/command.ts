/** `ops quarantine list|skip`: the records that halt a projection, and a person's decision to pass over one, which is an event: every replay passes over the same. */
import { randomBytes } from 'node:crypto';
import {
  isSkipEvent,
  skipEventId,
  skipKey,
  type RecordSkipped,
} from '../../../schemas/projector.skips/events.ts';
import { PROJECTOR_SKIPS } from '../../../schemas/topics.ts';
import { openCodec } from '../../runtime/kafka/codec.ts';
import { httpUrl, list, postgresUrl, readConfig } from '../../runtime/process/config.ts';
import { openKafka } from '../../runtime/kafka/client.ts';
import { ensureTopics } from '../../runtime/kafka/topics.ts';
import { KafkaWriter } from '../../runtime/kafka/writer.ts';
import { readLogRange } from '../../runtime/kafka/range.ts';
import { readLogEnds } from '../../runtime/kafka/ends.ts';
import type { LogRecord } from '../../runtime/kafka/record.ts';
import { openLog } from '../../runtime/process/log.ts';
import { openReader } from '../../runtime/postgres/pool.ts';
import { environmentOf } from '../config.ts';
import { quarantined, quarantineText, QUARANTINE, type Quarantined } from './text.ts';
import { commandOf, Misuse, readArguments, refuseWords, type Arguments } from '../usage.ts';

const USAGE = `usage: npm run ops -- quarantine <command> [--json] [--help]

  list                                       the records that halt a projection now, and those passed over before; --all shows those too that were mended
  skip <projection> --actor A --reason R     has the record that halts this projection passed over, for good and in every replay

  --json    JSON instead of text
  --stack   the stack file to take addresses from where no APP_... variable gives them; default .local/stack.json, in APP_LOCAL_DIR where that is set

Only explorer and ride_market may pass over a record. Projections of money halt until the log is right. What is passed over is as if it had said nothing: if it
was a block of the chain, the next one does not link to what is there, and halts the projection again.
Exits 0 when it is done or was done before, 1 when it is refused, 2 when something did not answer.
`;

const OPTIONS = {
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
  all: { type: 'boolean', default: false },
  stack: { type: 'string' },
  actor: { type: 'string', default: '' },
  reason: { type: 'string', default: '' },
} as const;
const COMMANDS = {
  name: 'quarantine',
  options: { list: ['all'], skip: ['actor', 'reason'] },
  usage: USAGE,
};
const READER_SETTINGS = { postgres_reader_url: postgresUrl('APP_POSTGRES_READER_URL') } as const;
const LOG_SETTINGS = {
  kafka_brokers: list('APP_KAFKA_BROKERS'),
  registry_url: httpUrl('APP_REGISTRY_URL'),
} as const;
const TEXT_MAX = 1_000;
const PATIENCE_MS = 30_000;

type Values = Arguments<typeof OPTIONS>['values'];

/** `args` are those behind `quarantine`. The exit code. */
export async function quarantine(args: readonly string[], stackFile: string): Promise<number> {
  const { values, positionals } = readArguments(args, OPTIONS, USAGE);
  const stack = values.stack ?? stackFile;
  if (values.help) {
    process.stdout.write(USAGE);
    return 0;
  }
  const [command, ...words] = commandOf(args, positionals, COMMANDS);
  if (command === 'list') {
    refuseWords('quarantine list', words, USAGE);
    return show(values, stack);
  }
  const [projection, ...more] = words;
  if (projection === undefined || more.length > 0)
    throw new Misuse(
      'name one projection: quarantine skip <projection>; see quarantine list',
      USAGE,
    );
  return skip(projection, values, stack);
}

async function show({ json, all }: Values, stack: string): Promise<number> {
  const found = (await read(stack)).filter(({ state }) => all || state !== 'mended');
  process.stdout.write(`${json ? JSON.stringify(found) : quarantineText(found)}\n`);
  return 0;
}

async function read(stack: string): Promise<readonly Quarantined[]> {
  const config = readConfig(environmentOf(process.env, stack, READER_SETTINGS), READER_SETTINGS);
  const log = openLog({ service: 'ops', level: 'fatal' });
  const reader = openReader(
    { ...config, application_name: 'ops', statement_timeout_ms: 5_000, connections_max: 1 },
    log,
  );
  try {
    return (await reader.rows(QUARANTINE)).map(quarantined);
  } finally {
    await reader.close();
  }
}

async function skip(
  projection: string,
  { json, ...values }: Values,
  stack: string,
): Promise<number> {
  const [actor, reason] = [values.actor.trim(), values.reason.trim()];
  if ([actor, reason].some((text) => text === '' || text.length > TEXT_MAX))
    throw new Misuse(
      `--actor and --reason are both needed, of at most ${TEXT_MAX} characters: they stay in the log for ever`,
    );
  const halting = (await read(stack)).find(
    (each) => each.projection === projection && each.state === 'halts',
  );
  if (halting === undefined)
    throw new Misuse(
      `nothing that may be passed over halts ${projection}: quarantine list shows what halts`,
    );
  const { topic, partition, offset, error } = halting;
  const event: RecordSkipped = {
    type: 'RecordSkipped',
    projection,
    topic,
    partition,
    record_offset: Number(offset),
    fingerprint: Buffer.from(halting.fingerprint.slice(2), 'hex'),
    error,
    actor,
    reason,
    decided_at: Date.now(),
  };
  const place = await append(event, stack);
  if (json)
    process.stdout.write(
      `${JSON.stringify({ projection, topic, partition, offset, appended: place ?? null })}\n`,
    );
  else {
    const done =
      place === undefined ? 'was decided before' : `is decided: ${PROJECTOR_SKIPS.name}/0@${place}`;
    process.stdout.write(
      `that ${projection} passes over ${topic}/${partition}@${offset} ${done}; its projector goes on by itself\n`,
    );
  }
  return 0;
}

/** Where it stands; undefined when it was there before. */
async function append(event: RecordSkipped, stack: string): Promise<string | undefined> {
  const config = readConfig(environmentOf(process.env, stack, LOG_SETTINGS), LOG_SETTINGS);
  const log = openLog({ service: 'ops', level: 'fatal' });
  const kafka = openKafka({ ...config, client_id: 'ops' }, log);
  await ensureTopics(kafka, [PROJECTOR_SKIPS]);
  const codec = await openCodec(config.registry_url, [PROJECTOR_SKIPS]);
  const key = skipKey(event);
  const records: LogRecord[] = [];
  const { low, high } = await readLogEnds(kafka, PROJECTOR_SKIPS.name, 0);
  await readLogRange(kafka, PROJECTOR_SKIPS.name, 0, low, high, (record) => {
    if (record.key?.toString() === key) records.push(record);
  });
  await codec.learn(records.map(({ value }) => value));
  const known = records.map(({ value }) => codec.decode(value));
  if (known.some((each) => isSkipEvent(each) && each.fingerprint.equals(event.fingerprint)))
    return undefined;
  const headers = {
    event_id: skipEventId(event),
    event_type: event.type,
    source: 'ops',
    trace_id: randomBytes(16).toString('hex'),
  };
  const writer = new KafkaWriter(kafka, { log, signal: AbortSignal.timeout(PATIENCE_MS) });
  try {
    const entry = { key, value: codec.encode(event), headers, timestamp: event.decided_at };
    return String(await writer.append(PROJECTOR_SKIPS.name, 0, [entry]));
  } finally {
    await writer.close();
  }
}
