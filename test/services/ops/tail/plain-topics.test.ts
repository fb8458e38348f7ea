import { expect, test } from 'vitest';
import { pinText } from '../../../../schemas/schema.ids/pin.ts';
import { TOPICS } from '../../../../schemas/topics.ts';
import { isPlain, plainColumns, plainValue } from '../../../../services/ops/tail/plain-topics.ts';

const pin = { id: 24, subject: 'clt.BlockAppended', schema: '{"type":"record"}' };

test('a pin of a schema id is shown by its fields, which are columns of a table', () => {
  expect(plainValue('schema.ids', Buffer.from(pinText(pin)))).toEqual({
    type: 'SchemaPin',
    schema_id: null,
    value: pin,
  });
  expect(Object.keys(plainColumns('schema.ids'))).toEqual(Object.keys(pin));
});

test.each([null, Buffer.from('{}'), Buffer.from('[]'), Buffer.from([0, 0, 0, 0, 1])])(
  'a record of schema.ids with the value %j is unreadable',
  (value) => {
    expect(plainValue('schema.ids', value)).toMatchObject({
      type: null,
      unreadable: expect.any(String),
    });
  },
);

test('a part of a snapshot is shown by its size', () => {
  expect(plainValue('treasury.snapshots', Buffer.alloc(7))).toMatchObject({
    type: 'SnapshotPart',
    value: { bytes: 7 },
  });
});

test('the value of an event is for others to show', () => {
  for (const { name } of TOPICS) expect([name, isPlain(name)]).toEqual([name, false]);
  expect(plainValue('treasury.ledger', Buffer.from(pinText(pin)))).toBeUndefined();
});
