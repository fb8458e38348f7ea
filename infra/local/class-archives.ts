/**
 * The classes of the Java servers as Java has read, checked and laid them out once, to be mapped into memory at each start: a server is then ready in half the time.
 */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** The cache's folder of archives: another Java (as it tells its version), or another place of what it runs, is another folder. */
export function archivesName(java_version: string, places: readonly string[]): string {
  const digest = createHash('sha256')
    .update([java_version, ...places].join('\n'))
    .digest('hex');
  return `classes-${digest.slice(0, 8)}`;
}

export function archiveFile(archives: string, server: string): string {
  return join(archives, `${server}.jsa`);
}

/** Java's option to use a server's archive; nothing where there is none. Java itself goes on without one that does not fit. */
export function archiveOption(archives: string, server: string): string[] {
  const file = archiveFile(archives, server);
  return existsSync(file) ? [`-XX:SharedArchiveFile=${file}`] : [];
}
