import assert from 'node:assert/strict';
import { TOPICS } from '../../../schemas/topics.ts';
import { readSchemas } from '../../../services/runtime/kafka/avro-schemas.ts';
import { codecOf } from '../../../services/runtime/kafka/codec.ts';
import { SchemaRegistry } from '../../../services/runtime/kafka/schema-registry.ts';
import { Fault } from '../../../services/runtime/process/errors.ts';
import { SAMPLES } from '../../schemas/golden/samples.ts';

export const about =
  'records of the log: only `undecodable` is thrown, and a read event is the same after it was written';

const schemas = await readSchemas(TOPICS);
const ids = schemas.map((_, at) => at + 1);
/** It is never asked: every id is known. */
const registry = new SchemaRegistry({ registry_url: 'http://127.0.0.1:1' });
const codec = codecOf(registry, schemas, ids);

export const seeds = SAMPLES.map(({ event }) => codec.encode(event)).filter(
  ({ length }) => length < 2_000,
);
/** The head of a record, and integers of 33 and of 47 bits. */
export const words = [
  '0000000000',
  '8080808010',
  'ffffffff0f',
  '80808080808020',
  'ffffffffffff1f',
].map((hex) => Buffer.from(hex, 'hex'));

export function fuzz(bytes: Buffer): void {
  let event;
  try {
    event = codec.decode(bytes);
  } catch (error) {
    if (!(error instanceof Fault && error.code === 'undecodable')) throw error;
    return;
  }
  const written = codec.encode(event);
  assert.deepEqual(codec.decode(written), event);
  // bytes that are no UTF-8 become a character of three
  assert.ok(written.length <= 3 * bytes.length);
}
