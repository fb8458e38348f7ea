/**
 * A rebuild of the explorer under its own name and topic, in a process that can be killed; prints
 * each step as it begins.
 */
import { explorer } from '../../../../projections/explorer/explorer.ts';
import { CHAIN_BLOCKS } from '../../../../schemas/topics.ts';
import { rebuild } from '../../../../services/projector/rebuild/rebuild.ts';
import { never, silentLog, testKafka } from '../../../support/kafka.ts';
import { openCodec } from '../../../support/codec.ts';

const {
  name,
  version,
  topic,
  postgres_url,
  kafka_brokers,
  registry_url,
}: Readonly<Record<string, string>> & { readonly version: number } = JSON.parse(
  process.argv[2] ?? '{}',
);
const outcome = await rebuild({
  projection: { ...explorer, name: name ?? '', version, topics: [topic ?? ''] },
  postgres_url: postgres_url ?? '',
  kafka: testKafka({ kafka_brokers: kafka_brokers ?? '' }),
  codec: await openCodec(registry_url ?? '', [CHAIN_BLOCKS]),
  log: silentLog(),
  signal: never,
  onStep: ({ step, what = '', records_behind }) =>
    void process.stdout.write(`${step} ${what} ${records_behind}\n`),
});
process.stdout.write(`${JSON.stringify(outcome)}\n`, () =>
  process.exit('refused' in outcome ? 1 : 0),
);
