/** The topics as an AsyncAPI 3.0 document, made from `topics.ts` and the Avro schemas. */
import { TOPICS, type Topic } from './topics.ts';

const BINDING_VERSION = '0.5.0';
const AVRO_FORMAT = 'application/vnd.apache.avro;version=1.9.0';

const ABOUT = `The events of the system, kept for ever. Replaying the topics from offset 0 rebuilds every read model.

A value is Avro in Confluent's wire format: a zero byte, the schema id in four bytes (big-endian), the body. The registry resolves the id; subjects are named by topic and record, compatibility is FULL_TRANSITIVE. The topic \`schema.ids\` keeps the schema of each id too: its values are JSON with \`id\`, \`subject\` and \`schema\`, and the first record of an id counts.
Amounts are \`decimal\` with scale 0 (CLT base units, which are micro-USDT), hashes and addresses are bytes, times are milliseconds since 1970 in UTC. Delivery is at least once; the same fact has the same \`event_id\` in every retry.

Not every record counts:
- An event with a \`sequence\` counts only at that offset. Elsewhere it was sent twice, or another writer came first. An older event without one counts anywhere.
- In \`tron.transfers\` the first record of a \`tx_id\` and \`log_index\` counts, in the partition of its address; in \`reserve.runs\` the first of a \`run_id\`.
- An event with a field out of range, such as an amount below 0, does not count, in any topic.
- In \`treasury.ledger\` and \`deposit.addresses\` an event that contradicts those before it does not count, nor does one that lacks the signature that it needs.
- A \`MintVoided\` takes back the \`MintIntended\` and the \`MintCredited\` with its \`tx_hash\`.
- A \`BlockReverted\` takes back the newest block of \`chain.blocks\` that is not taken back yet, with all its transactions. A block up to the height of a \`BlocksFinalized\` stays.

So a total over the log is right only without what does not count.`;

/** By default, those of `npm start`. */
const SERVERS = {
  kafka: {
    host: '{brokers}',
    protocol: 'kafka',
    description:
      'The broker and the registry of a system: `kafka_brokers` and `registry_url` in the stack file of `npm start`, APP_KAFKA_BROKERS and APP_REGISTRY_URL elsewhere. With APP_KAFKA_TLS the protocol is kafka-secure.',
    variables: { brokers: { default: '127.0.0.1:19092', description: 'host:port, by commas' } },
    bindings: {
      kafka: {
        schemaRegistryUrl: 'http://127.0.0.1:18081/apis/ccompat/v7',
        schemaRegistryVendor: 'apicurio',
        bindingVersion: BINDING_VERSION,
      },
    },
  },
} as const;

const HEADERS = {
  type: 'object',
  required: ['event_id', 'event_type', 'source', 'trace_id'],
  properties: {
    event_id: { type: 'string', description: 'the same for every retry of one fact' },
    event_type: { type: 'string', description: 'name of the event and of its Avro record' },
    schema_fingerprint: {
      type: 'string',
      description:
        "first 8 bytes of the SHA-256 of the schema's Parsing Canonical Form, as hex; a record whose schema id names another schema at the registry is not to be decoded. Older records have none.",
      pattern: '^[0-9a-f]{16}$',
    },
    source: { type: 'string', description: 'the service that wrote it' },
    trace_id: {
      type: 'string',
      description: '32 hex digits, of the attempt that wrote the record, or of its traceparent',
      pattern: '^[0-9a-f]{32}$',
    },
    traceparent: {
      type: 'string',
      description:
        'W3C Trace Context: the span that wrote the record, where its writer has tracing on. Readers may continue the trace; no event depends on it.',
      pattern: '^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$',
    },
  },
} as const;

/** The document, in the form of JSON. `read` returns the text of a file, such as an Avro schema. */
export function asyncApi(read: (file: URL) => string): object {
  return {
    asyncapi: '3.0.0',
    info: { title: 'Topics of the CLT token system', version: '1.0.0', description: ABOUT },
    defaultContentType: 'avro/binary',
    servers: SERVERS,
    channels: Object.fromEntries(TOPICS.map((topic) => [topic.name, channelOf(topic)])),
    operations: Object.fromEntries(TOPICS.map((topic) => [`read-${topic.name}`, readingOf(topic)])),
    components: {
      messages: Object.fromEntries(
        TOPICS.flatMap((topic) =>
          topic.events.map(({ type, avsc }) => [type, messageOf(topic, type, read(avsc))]),
        ),
      ),
    },
  };
}

function channelOf({ name, about, partitions, config, events }: Topic): object {
  return {
    address: name,
    description: about,
    messages: Object.fromEntries(
      events.map(({ type }) => [type, { $ref: `#/components/messages/${type}` }]),
    ),
    bindings: {
      kafka: {
        topic: name,
        partitions,
        topicConfiguration: configurationOf(config),
        bindingVersion: BINDING_VERSION,
      },
    },
  };
}

function configurationOf(config: Topic['config']): object {
  return Object.fromEntries(
    Object.entries(config).map(([name, value]) => [name, settingOf(name, value)]),
  );
}

/** The form that the Kafka binding specifies: numbers as numbers, the cleanup policy as a list. */
function settingOf(name: string, value: string): unknown {
  if (name === 'cleanup.policy') return value.split(',');
  return /^-?[0-9]+$/.test(value) ? Number(value) : value;
}

function readingOf({ name, events }: Topic): object {
  return {
    action: 'receive',
    summary: `Every record of ${name}, from offset 0.`,
    channel: { $ref: `#/channels/${name}` },
    messages: events.map(({ type }) => ({ $ref: `#/channels/${name}/messages/${type}` })),
  };
}

function messageOf({ key }: Topic, type: string, avsc: string): object {
  const schema: Readonly<Record<string, unknown>> = JSON.parse(avsc);
  return {
    name: type,
    title: type,
    ...(typeof schema['doc'] === 'string' ? { summary: schema['doc'] } : {}),
    contentType: 'avro/binary',
    headers: {
      ...HEADERS,
      properties: {
        ...HEADERS.properties,
        event_type: { const: type, description: HEADERS.properties.event_type.description },
      },
    },
    payload: { schemaFormat: AVRO_FORMAT, schema },
    bindings: {
      kafka: {
        key: { type: 'string', description: key },
        schemaIdLocation: 'payload',
        schemaIdPayloadEncoding: 'confluent',
        schemaLookupStrategy: 'TopicRecordNameStrategy',
        bindingVersion: BINDING_VERSION,
      },
    },
  };
}
