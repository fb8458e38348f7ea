/** Opens what a projection needs and runs it. */
import type { Projection } from '../../projections/contract/projection.ts';
import { openDecoder } from '../runtime/kafka/codec.ts';
import { Fault } from '../runtime/process/errors.ts';
import { openHttp } from '../runtime/http/server.ts';
import { openKafka } from '../runtime/kafka/client.ts';
import { ensureTopics } from '../runtime/kafka/topics.ts';
import type { Service } from '../runtime/process/main.ts';
import { LogLost } from '../runtime/kafka/position.ts';
import { prepareDatabase, type Tables } from './tables/migrations.ts';
import { guardWriters, SELDOM_MS } from './tables/readers.ts';
import { showHosts } from '../runtime/postgres/hosts.ts';
import { openWriter } from '../runtime/postgres/pool.ts';
import {
  Activity,
  STARTING,
  waitingFor,
  waitingText as shownText,
  type HealthProblem,
} from '../runtime/process/health.ts';
import { rebuild, type RebuildOptions, type RebuildStep } from './rebuild/rebuild.ts';
import { openNotificationPublisher } from '../runtime/redis.ts';
import { topicsOf } from './engine/quarantine.ts';
import { Runner, type RunnerStatus } from './engine/runner.ts';
import { aborted, untilAborted } from '../runtime/process/retry.ts';
import type { readProjectorConfig } from './config.ts';

const POLL_MS = 1_000;

export type ProjectorConfig = ReturnType<typeof readProjectorConfig>;

export async function project<Event extends { readonly type: string }>(
  projection: Projection<Event>,
  service: Service<ProjectorConfig>,
): Promise<void> {
  try {
    await open(projection, service);
  } catch (error) {
    // the last fault of a retry that the shutdown ended; it is logged already
    if (!(service.signal.aborted && error instanceof Fault)) throw error;
  }
}

async function open<Event extends { readonly type: string }>(
  projection: Projection<Event>,
  { config, log, metrics, tracing, signal, closing }: Service<ProjectorConfig>,
): Promise<void> {
  const name = `projector-${projection.name}`;
  const opening = new Activity({ log, signal, describe: waitingText });
  let problem = (): HealthProblem | undefined => opening.problem;
  let phase = (): string => opening.phase;
  const http = await openHttp(config, {
    log,
    metrics,
    checks: [{ name: projection.name, check: () => problem() }],
    phase: () => phase(),
  });
  closing.add('http', () => http.drain());

  closing.add(
    'guard',
    guardWriters({ postgres_url: config.postgres_url, log, every_ms: SELDOM_MS }),
  );

  const { postgres_url, postgres_reader_role } = config;
  const topics = topicsOf(projection);
  const prepare = (): Promise<Tables> =>
    opening.retrying('preparing the tables', () =>
      prepareDatabase(config.postgres_url, projection, { postgres_reader_role, log }),
    );
  let tables = await prepare();
  const pool = openWriter(
    {
      postgres_url: config.postgres_url,
      postgres_connect_ms: config.postgres_connect_ms,
      application_name: name,
      schema: projection.name,
    },
    log,
  );
  closing.add('postgres', () => pool.end());
  showHosts(metrics, config.postgres_url);
  const notifications = openNotificationPublisher(config, name, log, metrics);
  closing.add('redis', () => notifications.close());
  const kafka = openKafka(config, name, log);
  const codec = await openDecoder(config, { kafka }, topics, projection.unread);

  await opening.retrying('looking for the topics', () => ensureTopics(kafka, topics));
  while (tables === 'older') {
    const raised = await raise(
      { postgres_url, postgres_reader_role, projection, kafka, codec, log, signal },
      opening,
    );
    if (!raised) return aborted(signal);
    opening.enter(STARTING);
    tables = await prepare();
  }
  const runner = new Runner({
    kafka_session_ms: config.kafka_session_ms,
    projection,
    kafka,
    codec,
    pool,
    notifications,
    metrics,
    log,
    tracing,
    signal,
  });
  problem = () => problemOf(runner.status);
  phase = () => (runner.is_standing_by ? 'standing_by' : 'following');
  await runner.run();
}

/**
 * Builds tables of this software's version, while those of an earlier one are read, or waits for
 * another process that does. False: stopped, or halted until a person acts.
 */
async function raise<Event extends { readonly type: string }>(
  options: RebuildOptions<Event>,
  activity: Activity,
): Promise<boolean> {
  const { postgres_url, postgres_reader_role, projection, kafka, codec, log, signal } = options;
  const what = `tables of version ${projection.version}`;
  const show = (progress: string): void =>
    activity.enter({
      status: 'working',
      phase: 'rebuilding',
      message: `building ${what}: ${progress}`,
    });
  const onStep = ({ step, what: part, records_behind: recordsBehind }: RebuildStep): void =>
    show(part ?? `${step.replace('_', ' ')}, ${recordsBehind} records behind`);
  try {
    log.info(
      { projection: projection.name, version: projection.version },
      'the tables are of an earlier version: building new ones',
    );
    const outcome = await activity.retrying(`building ${what}`, () =>
      rebuild({
        postgres_url,
        postgres_reader_role,
        projection,
        kafka,
        codec,
        log,
        signal,
        onStep,
      }),
    );
    if ('refused' in outcome) {
      show(outcome.message);
      await untilAborted(POLL_MS, signal);
    } else log.info({ projection: projection.name, ...outcome }, 'the new tables are in place');
    return !signal.aborted;
  } catch (error) {
    if (!(error instanceof LogLost)) throw error;
    const [reason, remedy] = [error.message, error.remedyFor(projection.name)];
    activity.halt(haltedText(reason, remedy));
    log.error({ projection: projection.name, reason, remedy }, 'projection halted');
    return false;
  }
}

function problemOf(now: RunnerStatus): HealthProblem | undefined {
  switch (now.status) {
    case 'running':
      return undefined;
    case 'starting':
      return STARTING;
    case 'stopped':
      return { status: 'working', phase: 'stopped', message: 'stopped' };
    case 'loading': {
      const { records_behind: recordsBehind, seconds_left: secondsLeft } = now;
      const eta = secondsLeft === undefined ? '' : `, about ${secondsLeft} s left`;
      const message = `loading: ${recordsBehind} records behind${eta}`;
      return { status: 'working', phase: 'loading', eta_s: secondsLeft, message };
    }
    case 'building':
      return { status: 'working', phase: 'building_indexes', message: `building ${now.what}` };
    case 'waiting':
      return waitingFor(now.fault, { message: waitingText(now.fault) });
    case 'halted': {
      const message = `halted: ${haltedText(now.reason, now.remedy)}`;
      return { status: 'halted', phase: 'halted', message };
    }
  }
}

function waitingText(fault: Fault): string {
  const { code, message } = fault;
  return code === 'projection_version' ? `waiting: ${message}` : shownText(fault);
}

function haltedText(reason: string, remedy: string): string {
  return `${reason}. What to do: ${remedy}`;
}
