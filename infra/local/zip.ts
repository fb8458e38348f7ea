import { inflateRawSync } from 'node:zlib';
import { StackFault } from './fault.ts';

const END = 0x06054b50;
const ENTRY = 0x02014b50;
const END_BYTES = 22;

function endOfDirectory(zip: Buffer): number {
  for (let at = zip.length - END_BYTES; at >= 0; at -= 1) {
    if (zip.readUInt32LE(at) === END) return at;
  }
  throw new StackFault('not a zip archive: it has no central directory');
}

/** One file out of a zip archive (a jar), stored or deflated. Throws a StackFault when the archive has no such entry. */
export function unzipEntry(zip: Buffer, name: string): Buffer {
  const end = endOfDirectory(zip);
  let at = zip.readUInt32LE(end + 16);
  for (
    let left = zip.readUInt16LE(end + 10);
    left > 0 && zip.readUInt32LE(at) === ENTRY;
    left -= 1
  ) {
    const name_bytes = zip.readUInt16LE(at + 28);
    if (zip.toString('utf8', at + 46, at + 46 + name_bytes) === name) {
      const local = zip.readUInt32LE(at + 42);
      const begin = local + 30 + zip.readUInt16LE(local + 26) + zip.readUInt16LE(local + 28);
      const body = zip.subarray(begin, begin + zip.readUInt32LE(at + 20));
      return zip.readUInt16LE(at + 10) === 0 ? body : inflateRawSync(body);
    }
    at += 46 + name_bytes + zip.readUInt16LE(at + 30) + zip.readUInt16LE(at + 32);
  }
  throw new StackFault(`the archive has no entry ${name}`);
}
