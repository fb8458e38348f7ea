import { crc32, deflateRawSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { unzipEntry } from '../../../infra/local/zip.ts';

/** A zip archive; entries with `deflated` are compressed. */
function zipOf(
  entries: readonly { readonly name: string; readonly body: string; readonly deflated: boolean }[],
): Buffer {
  const locals: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const { name, body, deflated } of entries) {
    const packed = deflated ? deflateRawSync(body) : Buffer.from(body);
    const sizes = Buffer.alloc(14);
    sizes.writeUInt16LE(deflated ? 8 : 0, 0);
    const facts = Buffer.alloc(12);
    facts.writeUInt32LE(crc32(body), 0);
    facts.writeUInt32LE(packed.length, 4);
    facts.writeUInt32LE(Buffer.byteLength(body), 8);
    const local = Buffer.alloc(30);
    local.writeUInt32LE(0x04034b50, 0);
    local.writeUInt16LE(deflated ? 8 : 0, 8);
    facts.copy(local, 14);
    local.writeUInt16LE(name.length, 26);
    local.writeUInt16LE(3, 28);
    locals.push(local, Buffer.from(name), Buffer.from('xyz'), packed);
    const entry = Buffer.alloc(46);
    entry.writeUInt32LE(0x02014b50, 0);
    entry.writeUInt16LE(deflated ? 8 : 0, 10);
    facts.copy(entry, 16);
    entry.writeUInt16LE(name.length, 28);
    entry.writeUInt32LE(offset, 42);
    directory.push(entry, Buffer.from(name));
    offset += 30 + name.length + 3 + packed.length;
  }
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...locals, ...directory, end]);
}

const archive = zipOf([
  { name: 'META-INF/MANIFEST.MF', body: 'Manifest-Version: 1.0', deflated: false },
  { name: 'redis-server', body: 'a'.repeat(100_000), deflated: true },
]);

test('an entry comes out of an archive as it went in, stored or deflated', () => {
  expect(unzipEntry(archive, 'META-INF/MANIFEST.MF').toString()).toBe('Manifest-Version: 1.0');
  expect(unzipEntry(archive, 'redis-server').toString()).toBe('a'.repeat(100_000));
});

test('an entry that is not there, and bytes that are no archive, are faults', () => {
  expect(() => unzipEntry(archive, 'redis')).toThrow('no entry redis');
  expect(() => unzipEntry(Buffer.from('<html>not a jar</html> and a bit more'), 'x')).toThrow(
    'not a zip archive',
  );
});
