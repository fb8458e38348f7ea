import { crc32 as zlibCrc32 } from 'node:zlib';
import { expect, test } from 'vitest';
import { crc32, transferPartition } from '../../schemas/tron-partition.ts';
import { Random } from '../support/random.ts';

// every record ever written stands where these say: a change here loses track of deposits
test.each([
  ['0000000000000000000000000000000000000000', 5],
  ['ffffffffffffffffffffffffffffffffffffffff', 2],
  ['a614f803b6fd780986a42c78ec9c7f77e6ded13c', 2],
  ['eca9bc828a3005b9a3b909f2cc5c2a54794de05f', 0],
  ['e2e1a54926527fbb4e4420de4c6bab82beaee24d', 1],
  ['9705bf55c3dcc6d277ebb8fe2a68762268822ba2', 0],
])('the records of %s are in partition %i, for ever', (hex, partition) => {
  expect(transferPartition(Buffer.from(hex, 'hex'))).toBe(partition);
});

test('the checksum is the standard CRC-32', () => {
  expect(crc32(Buffer.from('123456789'))).toBe(0xcbf43926);
  const random = new Random(3);
  for (let time = 0; time < 500; time++) {
    const bytes = random.bytes(20);
    expect(crc32(bytes)).toBe(zlibCrc32(bytes));
  }
});

test('addresses are spread evenly over the partitions', () => {
  const random = new Random(4);
  const counts = [0, 0, 0, 0, 0, 0];
  for (let time = 0; time < 6_000; time++) {
    const partition = transferPartition(random.bytes(20));
    counts[partition] = (counts[partition] ?? 0) + 1;
  }
  expect(counts).toHaveLength(6);
  for (const count of counts) expect(Math.abs(count - 1_000)).toBeLessThan(150);
});
