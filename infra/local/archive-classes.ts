import { rmSync } from 'node:fs';
import { basename } from 'node:path';
import { fetchOnce, type Cache } from './cache.ts';
import { archiveFile } from './class-archives.ts';
import type { Folder } from './folder.ts';
import { kafkaServer } from './kafka.ts';
import type { Ports } from './ports.ts';
import type { Programs } from './programs.ts';
import { registryServer } from './registry.ts';
import type { Report } from './report.ts';
import { Server } from './server.ts';

/**
 * Makes the archives of classes when the cache has none for this Java: starts the stack's Java servers, on its own ports and data, and ends them again, which is when
 * Java writes them. A Java that writes none has an empty folder, and its servers start without.
 */
export async function archiveClasses(
  cache: Cache,
  folder: Folder,
  programs: Programs,
  ports: Ports,
  report: Report,
  signal: AbortSignal,
): Promise<void> {
  const fill = async (target: string): Promise<void> => {
    const recorded = (server: string): string[] => [
      '-XX:+IgnoreUnrecognizedVMOptions',
      `-XX:ArchiveClassesAtExit=${archiveFile(target, server)}`,
    ];
    const servers = [
      new Server(kafkaServer(folder, programs, ports.kafka, ports.kafka_controller, recorded('kafka')), folder),
      new Server(registryServer(folder, programs, ports.registry, recorded('registry')), folder),
    ];
    const starts = await Promise.allSettled(servers.map((server) => server.start(signal)));
    await Promise.all(servers.map((server) => server.stop()));
    if (signal.aborted) throw signal.reason;
    for (const [at, { name, child }] of servers.entries()) {
      // a server that does not come up says so at its own start; one that had to be killed may have written half of it
      const isWhole = starts[at]?.status === 'fulfilled' && child?.exited?.signal === null;
      if (!isWhole) rmSync(archiveFile(target, name), { force: true });
    }
  };
  const name = basename(programs.class_archives);
  await fetchOnce(cache, name, 'classes of the Java servers', report, signal, fill, ['archiving', 'archived']);
}
