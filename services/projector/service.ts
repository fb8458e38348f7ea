/** Opens what a projection needs and runs it. */
import type { Projection } from '../../projections/contract/projection.ts';
import { openCodec } from '../runtime/kafka/codec.ts';
import { Fault } from '../runtime/process/errors.ts';
import { openHttp } from '../runtime/http/server.ts';
import { openKafka } from '../runtime/kafka/client.ts';
import { ensureTopics } from '../runtime/kafka/topics.ts';
import type { Service } from '../runtime/process/main.ts';
import { LogLost } from '../runtime/kafka/position.ts';
import { prepareDatabase, type Tables } from './tables/migrations.ts';
import { openWriter } from '../runtime/postgres/pool.ts';
import type { Check } from '../runtime/process/readiness.ts';
import type { RebuildStep } from './rebuild/progress.ts';
import { rebuild, type RebuildOptions } from './rebuild/rebuild.ts';
import { openNotificationPublisher } from '../runtime/redis.ts';
import { Runner, type RunnerStatus } from './engine/runner.ts';
import { topicsOf } from './engine/skips.ts';
import { aborted, retrying, untilAborted, type RetryOptions } from '../runtime/process/retry.ts';
import type { readProjectorConfig } from './config.ts';

const LOOK_AGAIN_MS = 1_000;

export type ProjectorConfig = ReturnType<typeof readProjectorConfig>;

export async function project<Event extends { readonly type: string }>(
  projection: Projection<Event>,
  service: Service<ProjectorConfig>,
): Promise<void> {
  try {
    await open(projection, service);
  } catch (error) {
    // what was being tried again when the signal came ends with its last fault, which is in the log already
    if (!(service.signal.aborted && error instanceof Fault)) throw error;
  }
}

async function open<Event extends { readonly type: string }>(
  projection: Projection<Event>,
  { config, log, metrics, signal, closing }: Service<ProjectorConfig>,
): Promise<void> {
  const name = `projector-${projection.name}`;
  let opening: RunnerStatus = { status: 'starting' };
  let status = (): RunnerStatus => opening;
  const http = await openHttp({
    ...config,
    log,
    metrics,
    checks: [readyCheck(projection.name, () => status())],
  });
  closing.add('http', () => http.drain());

  const patient = {
    log,
    signal,
    onFault(fault: Fault | undefined) {
      opening = fault === undefined ? { status: 'starting' } : { status: 'waiting', fault };
    },
  };
  const topics = topicsOf(projection);
  const prepare = (): Promise<Tables> =>
    retrying({ ...patient, what: 'preparing the tables' }, () =>
      prepareDatabase(config.postgres_url, projection),
    );
  let tables = await prepare();
  const codec = await retrying({ ...patient, what: 'registering the schemas' }, () =>
    openCodec(config.registry_url, topics, projection.unread),
  );
  const pool = openWriter({ ...config, application_name: name, schema: projection.name }, log);
  closing.add('postgres', () => pool.end());
  const notifications = openNotificationPublisher({ ...config, client_name: name }, log, metrics);
  closing.add('redis', () => notifications.close());
  const kafka = openKafka({ ...config, client_id: name }, log);

  await retrying({ ...patient, what: 'looking for the topics' }, () => ensureTopics(kafka, topics));
  while (tables === 'older') {
    const raised = await raise(
      { ...config, projection, kafka, codec, log, signal },
      patient,
      (now) => (opening = now),
    );
    if (!raised) return aborted(signal);
    tables = await prepare();
  }
  const runner = new Runner({
    ...config,
    projection,
    kafka,
    codec,
    pool,
    notifications,
    metrics,
    log,
    signal,
  });
  status = () => runner.status;
  await runner.run();
}

/**
 * Builds tables of this software's version beside those that are read, which are of an earlier one, or waits for whoever does. False: told to stop, or the log
 * cannot be right, which nothing but a person ends.
 */
async function raise<Event extends { readonly type: string }>(
  options: RebuildOptions<Event>,
  patient: Omit<RetryOptions, 'what'>,
  show: (status: RunnerStatus) => void,
): Promise<boolean> {
  const { projection, log, signal } = options;
  const what = `version ${projection.version} beside the tables that are read`;
  const onStep = ({ step, what: part, records_behind: behind }: RebuildStep): void =>
    show({
      status: 'building',
      what: `${what}: ${part ?? `${step.replace('_', ' ')}, ${behind} records behind`}`,
    });
  try {
    log.info(
      { projection: projection.name, version: projection.version },
      'the tables are of an earlier version: building new ones beside them',
    );
    const outcome = await retrying({ ...patient, what: `building ${what}` }, () =>
      rebuild({ ...options, onStep }),
    );
    if ('refused' in outcome) {
      show({ status: 'building', what: `${what}: ${outcome.message}` });
      await untilAborted(LOOK_AGAIN_MS, signal);
    } else log.info({ projection: projection.name, ...outcome }, 'the new tables are in place');
    return !signal.aborted;
  } catch (error) {
    if (!(error instanceof LogLost)) throw error;
    const { message: reason, remedy } = error;
    show({ status: 'halted', reason, remedy });
    log.error({ projection: projection.name, reason, remedy }, 'projection halted');
    return false;
  }
}

function readyCheck(name: string, status: () => RunnerStatus): Check {
  return {
    name,
    check() {
      const now = status();
      switch (now.status) {
        case 'running':
          return undefined;
        case 'starting':
        case 'stopped':
          return now.status;
        case 'loading':
          return `loading: ${now.records_behind} records behind${now.seconds_left === undefined ? '' : `, about ${now.seconds_left} s left`}`;
        case 'building':
          return `building ${now.what}`;
        case 'waiting':
          return now.fault.code === 'projection_version'
            ? `waiting: ${now.fault.message}`
            : `waiting: ${now.fault.code}`;
        case 'halted':
          return `halted: ${now.reason}. What to do: ${now.remedy}`;
      }
    },
  };
}
