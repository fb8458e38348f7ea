import fs from 'node:fs';
import path from 'node:path';

/** Writes the file so that a crash at any moment leaves either the old one or the new one. */
export function writeFileWhole(file: string, text: string): void {
  const draft = `${file}.new`;
  const handle = fs.openSync(draft, 'w');
  fs.writeFileSync(handle, text);
  fs.fsyncSync(handle);
  fs.closeSync(handle);
  fs.renameSync(draft, file);
  const directory = fs.openSync(path.dirname(file), 'r');
  fs.fsyncSync(directory);
  fs.closeSync(directory);
}
