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
      new Server(
        kafkaServer(folder, programs, ports.kafka, ports.kafka_controller, recorded('kafka')),
        folder,
      ),
      new Server(registryServer(folder, programs, ports.registry, recorded('registry')), folder),
    ];
    const starts = await Promise.allSettled(servers.map((server) => server.start(signal)));
    await Promise.all(servers.map((server) => server.stop()));
    for (const start of starts) if (start.status === 'rejected') throw start.reason;
    for (const { name, child } of servers) {
      // what had to be killed may have written half of it
      if (child?.exited?.signal !== null) rmSync(archiveFile(target, name), { force: true });
    }
  };
  const name = basename(programs.class_archives);
  try {
    await fetchOnce(cache, name, 'classes of the Java servers', report, signal, fill, [
      'archiving',
      'archived',
    ]);
  } catch (error) {
    if (signal.aborted) throw error;
    // they make starts faster, no more; a server that cannot start says so itself
    report.line(
      `  the classes of the Java servers were not archived, so they start slower: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}
