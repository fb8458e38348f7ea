/** Opens what a projection needs and runs it. */
import { TOPICS } from '../../schemas/topics.ts';
import type { Projection } from '../../projections/projection.ts';
import { openCodec } from '../runtime/codec.ts';
import type { Fault } from '../runtime/errors.ts';
import { openHttp } from '../runtime/http.ts';
import { openKafka } from '../runtime/kafka.ts';
import { ensureTopics } from '../runtime/kafka-topics.ts';
import type { Service } from '../runtime/main.ts';
import { prepareDatabase } from '../runtime/migrations.ts';
import { openWriter } from '../runtime/postgres.ts';
import type { Check } from '../runtime/readiness.ts';
import { openHintPublisher } from '../runtime/redis.ts';
import { Runner, type RunnerStatus } from '../runtime/runner.ts';
import { retrying } from '../runtime/wait.ts';
import type { readProjectorConfig } from './config.ts';

export type ProjectorConfig = ReturnType<typeof readProjectorConfig>;

export async function project<Event extends { readonly type: string }>(
  projection: Projection<Event>,
  { config, log, metrics, signal, closing }: Service<ProjectorConfig>,
): Promise<void> {
  const name = `projector-${projection.name}`;
  let opening: RunnerStatus = { status: 'starting' };
  let status = (): RunnerStatus => opening;
  const http = await openHttp({ ...config, log, metrics, checks: [readyCheck(projection.name, () => status())] });
  closing.add('http', () => http.drain());

  const patient = {
    log,
    signal,
    onFault(fault: Fault | undefined) {
      opening = fault === undefined ? { status: 'starting' } : { status: 'waiting', fault };
    },
  };
  const topics = TOPICS.filter((topic) => projection.topics.includes(topic.name));
  await retrying({ ...patient, what: 'preparing the tables' }, () => prepareDatabase(config.postgres_url, projection));
  const codec = await retrying({ ...patient, what: 'registering the schemas' }, () => openCodec(config.registry_url, topics));
  const pool = openWriter({ ...config, application_name: name, schema: projection.name }, log);
  closing.add('postgres', () => pool.end());
  const hints = openHintPublisher({ ...config, client_name: name }, log, metrics);
  closing.add('redis', () => hints.close());
  const kafka = openKafka({ ...config, client_id: name }, log);

  await retrying({ ...patient, what: 'looking for the topics' }, () => ensureTopics(kafka, topics));
  const runner = new Runner({ ...config, projection, kafka, codec, pool, hints, metrics, log, signal });
  status = () => runner.status;
  await runner.run();
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
          return `waiting: ${now.fault.code}`;
        case 'halted':
          return `halted: ${now.reason}. What to do: ${now.remedy}`;
      }
    },
  };
}
