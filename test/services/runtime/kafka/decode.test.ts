import { expect, test } from 'vitest';
import { explorer } from '../../../../projections/explorer/explorer.ts';
import type { ChainEvent } from '../../../../schemas/chain.blocks/events.ts';
import type { Chunk } from '../../../../services/runtime/kafka/chunk-queue.ts';
import { undecodable, type Decoder } from '../../../../services/runtime/kafka/codec.ts';
import { Fault } from '../../../../services/runtime/process/errors.ts';
import { bytesOf, fingerprint, type LogRecord } from '../../../../services/runtime/kafka/record.ts';
import { decode } from '../../../../services/runtime/kafka/decode.ts';
import { chainEvents } from '../../../support/chain.ts';

const EVENTS = [...chainEvents({ seed: 1, blocks: 6, reorg_probability: 0.3 })];

/** Values name the place of an event in EVENTS; what `decode` answers may be replaced. */
function codec(
  change: {
    learn?: () => Promise<void>;
    decode?: (place: number) => ChainEvent | { type: string };
  } = {},
): Decoder {
  return {
    learn: change.learn ?? (() => Promise.resolve()),
    decode(value) {
      const place = Number(String(value));
      return change.decode?.(place) ?? EVENTS[place] ?? { type: 'nothing' };
    },
  };
}

function chunk(places: number, paddingBytes = 0): Chunk {
  const records = Array.from({ length: places }, (_, place): LogRecord => ({
    offset: BigInt(place),
    timestamp: place,
    key: Buffer.alloc(paddingBytes),
    value: Buffer.from(String(place)),
    headers: {},
  }));
  const offsets = { from: 0n, next: BigInt(places), fetched_at: 0 };
  return { topic: 'log', partition: 0, generation: 1, ...offsets, records, bytes: 17 };
}

test('a batch is decoded with the fingerprint and the size of each record, then with the rows it needs', async () => {
  const taken = chunk(EVENTS.length);
  const decoded = await decode(explorer, codec(), taken);
  expect(decoded).toEqual({
    topic: 'log',
    partition: 0,
    from: 0n,
    next: BigInt(EVENTS.length),
    events: EVENTS.map((event, place) => ({
      event,
      partition: 0,
      offset: BigInt(place),
      timestamp: place,
    })),
    fingerprints: taken.records.map(fingerprint),
    sizes: taken.records.map(bytesOf),
  });
});

test.each<[string, () => { type: string }]>([
  ['cannot be decoded', () => { throw undecodable('spoilt'); }], // prettier-ignore
  ['is of another projection', () => ({ type: 'MintIntended' })],
])('a batch ends before a record that %s', async (_, spoil) => {
  const spoilt = codec({
    decode: (place) => (place < 2 ? (EVENTS[place] ?? { type: 'nothing' }) : spoil()),
  });
  const decoded = await decode(explorer, spoilt, chunk(5));
  expect([decoded.events.length, decoded.fingerprints.length, decoded.sizes.length]).toEqual([
    2, 2, 2,
  ]);
  expect(decoded.poison?.fingerprint).toHaveLength(32);
  expect(decoded.poison).toMatchObject({
    offset: 2n,
    reason: expect.stringMatching(/^spoilt$|^MintIntended is no event that explorer folds$/),
  });
});

test('a registry that is away is a fault to be tried again, and names the record, a bug of the decoder is thrown as it is', async () => {
  const away = new Fault('schema_registry', 'away', { retry: true });
  await expect(
    decode(explorer, codec({ learn: () => Promise.reject(away) }), chunk(2)),
  ).rejects.toMatchObject({
    code: 'schema_registry',
    retry: true,
    message: 'log/0@0: away',
    shown: expect.stringContaining('log/0@0') as unknown,
  });
  const bug = codec({
    decode: () => {
      throw new RangeError('out of its mind');
    },
  });
  await expect(decode(explorer, bug, chunk(2))).rejects.toThrow(new RangeError('out of its mind'));
});

test('a large batch is decoded in stretches, so that others get their turn', async () => {
  let turns = 0;
  let isDone = false;
  const count = (): void => {
    turns++;
    if (!isDone) setImmediate(count);
  };
  setImmediate(count);
  await decode(explorer, codec(), chunk(6, 1024 * 1024));
  isDone = true;
  expect(turns).toBeGreaterThanOrEqual(5);
});

test('a record that carries a trace gives the same event as without', async () => {
  const taken = chunk(EVENTS.length);
  const traceparent = Buffer.from('00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01');
  const traced = taken.records.map((record) => ({ ...record, headers: { traceparent } }));
  const [{ events }, { events: same }] = await Promise.all([
    decode(explorer, codec(), taken),
    decode(explorer, codec(), { ...taken, records: traced }),
  ]);
  expect(same).toEqual(events);
});
