/**
 * The golden corpus: the bytes of every version of every event. Every later version must read them.
 *
 * golden/<topic>/v<n>/<Event>.avsc       the schemas of that version
 * golden/<topic>/v<n>/<Event>-<name>.hex  the Avro body of an event; .json its content
 *
 * When a schema changes: copy all schemas of the topic to a folder v<n+1>, add samples to
 * `golden/samples.ts`, and run this file once with `--update=new`, which writes the missing files
 * of the newest folder, and once without. Review and commit them. Older folders never change.
 */
import { readdir, readFile } from 'node:fs/promises';
import { expect, inject, test } from 'vitest';
import { subjectOf, TOPICS, type EventSchema, type Topic } from '../../../schemas/topics.ts';
import { ownTopic } from '../../support/kafka.ts';
import { SAMPLES } from '../../schemas/golden/samples.ts';
import { openCodec } from '../../support/codec.ts';

const { registry_url: registryUrl } = inject('stack');
const NAMESPACE = /"namespace":\s*"([^"]+)"/;

interface Version {
  readonly topic: Topic;
  readonly name: string;
  readonly folder: URL;
}

async function versionsOf(topic: Topic): Promise<readonly Version[]> {
  const folder = new URL(`../../schemas/golden/${topic.name}/`, import.meta.url);
  const names = (await readdir(folder)).toSorted(
    (one, other) => Number(one.slice(1)) - Number(other.slice(1)),
  );
  return names.map((name) => ({ topic, name, folder: new URL(`${name}/`, folder) }));
}

const VERSIONS = await Promise.all(TOPICS.map(versionsOf));
const NEWEST = VERSIONS.flatMap((versions) => versions.slice(-1));

/** Without what is said to people alone. */
function schemaOf(text: string): unknown {
  return JSON.parse(text, (key, value: unknown) => (key === 'doc' ? undefined : value));
}

/** Buffers as 0x + hex, amounts as decimal text. */
function toJson(event: object): string {
  const text = JSON.stringify(event, (_key, value: unknown) =>
    typeof value === 'bigint' ? String(value) : value,
  );
  const plain: unknown = JSON.parse(text, (_key, value: unknown) =>
    isBytes(value) ? `0x${Buffer.from(value.data).toString('hex')}` : value,
  );
  return `${JSON.stringify(plain, undefined, 2)}\n`;
}

/** As JSON writes a Buffer. */
function isBytes(value: unknown): value is { readonly data: readonly number[] } {
  return (
    typeof value === 'object' &&
    value !== null &&
    'type' in value &&
    value.type === 'Buffer' &&
    'data' in value
  );
}

function toHex(bytes: Buffer): string {
  return `${bytes.toString('hex').replaceAll(/(.{128})/g, '$1\n')}\n`;
}

/** Registers a schema of the corpus; returns the record's bytes up to its body. */
async function register(topic: Topic, event: EventSchema, text: string): Promise<Buffer> {
  const subject = subjectOf(topic, event, NAMESPACE.exec(text)?.[1] ?? '');
  const content = {
    method: 'POST',
    body: JSON.stringify({ schema: text }),
    headers: { 'content-type': 'application/json' },
  };
  const answer = await fetch(`${registryUrl}/subjects/${subject}/versions`, content);
  expect(answer.status).toBe(200);
  const { id }: { id: number } = JSON.parse(await answer.text());
  const head = Buffer.alloc(5);
  head.writeUInt32BE(id, 1);
  return head;
}

test.each(NEWEST)(
  'the newest version $name has the current schemas of $topic.name',
  async ({ topic, folder }) => {
    for (const { type, avsc } of topic.events) {
      const written = await readFile(new URL(`${type}.avsc`, folder), 'utf8');
      expect(
        schemaOf(written),
        `${type}.avsc has changed: add a version to the golden corpus, as golden.test.ts says at its top`,
      ).toEqual(schemaOf(await readFile(avsc, 'utf8')));
    }
    const schemas = (await readdir(folder)).filter((file) => file.endsWith('.avsc'));
    expect(schemas).toHaveLength(topic.events.length);
  },
);

test.each(NEWEST)(
  'the samples of $topic.name are encoded to the bytes of $name',
  async ({ topic, folder }) => {
    const codec = await openCodec(registryUrl, [topic]);
    const samples = SAMPLES.filter((sample) => sample.topic === topic.name);
    for (const { name, event } of samples) {
      await expect(toHex(codec.encode(event).subarray(5))).toMatchFileSnapshot(
        new URL(`${event.type}-${name}.hex`, folder).pathname,
      );
      await expect(toJson(event)).toMatchFileSnapshot(
        new URL(`${event.type}-${name}.json`, folder).pathname,
      );
    }
    expect(new Set(samples.map(({ event }) => event.type))).toEqual(
      new Set(topic.events.map(({ type }) => type)),
    );
  },
);

test.each(VERSIONS)(
  'every stored version of the events of a topic is decoded',
  async (...versions) => {
    const [topic] = versions.map((version) => version.topic);
    if (topic === undefined) throw new Error('a topic without a golden version');
    // a topic of its own, whose subjects grow as those of the real one did
    const renamed: Topic = { ...topic, name: ownTopic().name };
    let read = 0;
    const values: { readonly value: Buffer; readonly json: object }[] = [];
    for (const { folder } of versions) {
      const files = await readdir(folder);
      for (const event of topic.events) {
        if (!files.includes(`${event.type}.avsc`)) continue;
        const head = await register(
          renamed,
          event,
          await readFile(new URL(`${event.type}.avsc`, folder), 'utf8'),
        );
        const samples = files.filter(
          (file) => file.startsWith(`${event.type}-`) && file.endsWith('.hex'),
        );
        expect(samples.length).toBeGreaterThan(0);
        for (const file of samples) {
          const body = Buffer.from(
            (await readFile(new URL(file, folder), 'utf8')).replaceAll('\n', ''),
            'hex',
          );
          values.push({
            value: Buffer.concat([head, body]),
            json: JSON.parse(
              await readFile(new URL(file.replace('.hex', '.json'), folder), 'utf8'),
            ),
          });
        }
      }
    }
    const codec = await openCodec(registryUrl, [renamed]);
    await codec.learn(values.map(({ value }) => value));
    for (const { value, json } of values) {
      // a later version may know more fields, never fewer
      expect(JSON.parse(toJson(codec.decode(value)))).toMatchObject(json);
      read++;
    }
    expect(read).toBeGreaterThanOrEqual(topic.events.length);
  },
);
