import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Ajv } from 'ajv';
import { expect, test } from 'vitest';
import { asyncApi } from '../../schemas/asyncapi.ts';
import { TOPICS } from '../../schemas/topics.ts';

function read(file: URL): Record<string, unknown> {
  const parsed: Record<string, unknown> = JSON.parse(readFileSync(file, 'utf8'));
  return parsed;
}

const made: unknown = JSON.parse(JSON.stringify(asyncApi((file) => readFileSync(file, 'utf8'))));

/** AsyncAPI's own, drafts of other years among its parts. */
function official(): (document: unknown) => string[] {
  const schema: Record<string, unknown> = JSON.parse(
    readFileSync(
      createRequire(import.meta.url).resolve('@asyncapi/specs/schemas/3.0.0-without-$id.json'),
      'utf8',
    ),
  );
  const ajv = new Ajv({ strict: false, validateFormats: false, allErrors: true });
  const validate = ajv.compile(schema);
  return (document) =>
    validate(document)
      ? []
      : (validate.errors ?? []).map(
          ({ instancePath, message }) => `${instancePath}: ${message ?? ''}`,
        );
}

test("the document fits AsyncAPI's own schema, and a wrong one does not", () => {
  const complaints = official();
  expect(complaints(made)).toEqual([]);
  expect(complaints({ ...Object(made), channels: { x: { address: 5 } } })).not.toEqual([]);
  expect(complaints({ asyncapi: '3.0.0' })).not.toEqual([]);
});

test('every reference resolves, and every event of every topic has its Avro schema', () => {
  const references = [...JSON.stringify(made).matchAll(/"\$ref":"#([^"]+)"/g)].map(
    ([, pointer = '']) => pointer,
  );
  expect(references.length).toBeGreaterThan(TOPICS.length);
  for (const pointer of references) expect(at(pointer), pointer).toBeDefined();
  for (const { name, partitions, events } of TOPICS) {
    expect(at(`/channels/${name}/bindings/kafka`)).toMatchObject({
      topic: name,
      partitions,
      topicConfiguration: { 'retention.ms': -1 },
    });
    for (const event of events) {
      expect(at(`/channels/${name}/messages/${event.type}`)).toBeDefined();
      expect(at(`/components/messages/${event.type}/payload/schema`)).toEqual(read(event.avsc));
    }
  }
});

function at(pointer: string): unknown {
  let found: unknown = made;
  for (const step of pointer.split('/').slice(1))
    found = typeof found === 'object' && found !== null ? Reflect.get(found, step) : undefined;
  return found;
}
