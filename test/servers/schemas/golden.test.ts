/**
 * The golden corpus: the bytes of every version of every event. Every later version must read them.
 *
 * golden/<topic>/v<n>/<Event>.avsc       the schemas that were new or changed in that version
 * golden/<topic>/v<n>/<Event>-<name>.hex  the Avro body of an event; .json its content
 *
 * When a schema changes: copy it to a folder v<n+1> of its topic, add samples to
 * `golden/samples.ts`, and run this file once with `--update=new`, which writes the missing files
 * beside the newest schema of an event, and once without. Review and commit them. The files of
 * older schemas never change.
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
  readonly folder: URL;
  readonly files: readonly string[];
}

interface Corpus {
  readonly topic: Topic;
  /** the oldest first */
  readonly versions: readonly Version[];
}

async function corpusOf(topic: Topic): Promise<Corpus> {
  const corpus = new URL(`../../schemas/golden/${topic.name}/`, import.meta.url);
  const names = (await readdir(corpus)).toSorted(
    (one, other) => Number(one.slice(1)) - Number(other.slice(1)),
  );
  const versions = names.map(async (name) => {
    const folder = new URL(`${name}/`, corpus);
    return { folder, files: await readdir(folder) };
  });
  return { topic, versions: await Promise.all(versions) };
}

const CORPUS = await Promise.all(TOPICS.map(corpusOf));

/** The folder with the newest schema of an event. */
function newestOf({ versions }: Corpus, type: string): URL {
  const newest = versions.findLast(({ files }) => files.includes(`${type}.avsc`));
  if (newest === undefined) throw new Error(`the golden corpus has no ${type}.avsc`);
  return newest.folder;
}

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

test.each(CORPUS)(
  'the newest schemas of the corpus are the current ones of $topic.name',
  async ({ topic, versions }) => {
    for (const { type, avsc } of topic.events) {
      const folder = newestOf({ topic, versions }, type);
      const written = await readFile(new URL(`${type}.avsc`, folder), 'utf8');
      expect(
        schemaOf(written),
        `${type}.avsc has changed: add a version to the golden corpus, as golden.test.ts says at its top`,
      ).toEqual(schemaOf(await readFile(avsc, 'utf8')));
    }
    const schemas = versions.flatMap(({ files }) => files.filter((each) => each.endsWith('.avsc')));
    expect(new Set(schemas)).toEqual(new Set(topic.events.map(({ type }) => `${type}.avsc`)));
  },
);

test.each(CORPUS)(
  'the samples of $topic.name are encoded to the bytes of the newest schemas',
  async ({ topic, versions }) => {
    const codec = await openCodec(registryUrl, [topic]);
    const samples = SAMPLES.filter((sample) => sample.topic === topic.name);
    for (const { name, event } of samples) {
      const folder = newestOf({ topic, versions }, event.type);
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

test.each(CORPUS)(
  'every stored version of the events of $topic.name is decoded',
  async ({ topic, versions }) => {
    // a topic of its own, whose subjects grow as those of the real one did
    const renamed: Topic = { ...topic, name: ownTopic().name };
    let read = 0;
    const values: { readonly value: Buffer; readonly json: object }[] = [];
    for (const { folder, files } of versions) {
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
