import assert from 'node:assert/strict';
import { gzipSync } from 'node:zlib';
import { readBatches } from '../../../services/runtime/kafka/kafkajs/record-batch.ts';
import { fingerprint } from '../../../services/runtime/kafka/record.ts';
import { Fault } from '../../../services/runtime/process/errors.ts';

export const about = 'batches of Kafka: only `log_format` is thrown, and records hold bytes';

/** key, value and a header */
const RECORD = Buffer.from('1e0000000261026202026302640000', 'hex');

function batch(attributes: number, body: Buffer): Buffer {
  const bytes = Buffer.alloc(61);
  bytes.writeInt32BE(61 - 12 + body.length, 8);
  bytes.writeInt8(2, 16);
  bytes.writeInt16BE(attributes, 21);
  bytes.writeInt32BE(1, 57);
  return Buffer.concat([bytes, body]);
}

export const seeds = [
  batch(0, RECORD),
  batch(1, gzipSync(RECORD)),
  batch(0x10, RECORD),
  batch(0x30, Buffer.from('200000000800000000000c0000000000000000', 'hex')),
  Buffer.concat([batch(0x08, RECORD), batch(0, RECORD)]),
];
export const words = ['\x12__proto__\x02a', '\x16constructor\x02a', '\x10toString\x02a'];

export async function fuzz(bytes: Buffer): Promise<void> {
  let batches;
  try {
    batches = await readBatches(bytes, [{ producer_id: 0n, first_offset: 0n }]);
  } catch (error) {
    if (!(error instanceof Fault && error.code === 'log_format')) throw error;
    return;
  }
  for (const { records } of batches)
    for (const record of records) {
      for (const value of Object.values(record.headers))
        for (const each of Array.isArray(value) ? value : [value])
          assert.ok(each === undefined || typeof each === 'string' || Buffer.isBuffer(each));
      assert.equal(Object.getPrototypeOf(record.headers) ?? Object.prototype, Object.prototype);
      assert.equal(fingerprint(record).length, 32);
    }
}
