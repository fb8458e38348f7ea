import { hash } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Report } from '../cli/report.ts';
import { runOrFail } from '../process/run-program.ts';
import { createServers } from '../servers/servers.ts';
import type { Folder } from '../stack/folder.ts';
import type { Ports } from '../../services/ports.ts';
import { fetchOnce } from './cache.ts';
import type { Programs } from './programs.ts';

/** A server that ends writes its archive, which takes long on a slow machine. */
const WRITTEN_MS = 600_000;

/**
 * The programs with archives of the classes of Kafka and the registry, which take half of the
 * processor time of a start. An archive is of one Java and one class path. A server writes its own
 * when it ends, so both run once for it, on `ports` and with data of their own.
 */
export async function withClassArchives(
  cache: string,
  programs: Programs,
  { ports, folder }: { readonly ports: Ports; readonly folder: Folder },
  report: Report,
  signal: AbortSignal,
): Promise<Programs> {
  const { java, kafka_classpath, registry_jar } = programs;
  const version = await runOrFail(java, ['-version'], { signal });
  const key = hash('sha256', [version, kafka_classpath, registry_jar].join('\n')).slice(0, 8);
  const archivesIn = (path: string, option: string): Programs => ({
    ...programs,
    classArchive: (server) => [`-XX:${option}=${join(path, `${server}.jsa`)}`],
  });
  const path = await fetchOnce(cache, `classes-${key}`, report, signal, async (target) => {
    const data = join(folder.scratch, 'classes');
    mkdirSync(data);
    const writing = archivesIn(target, 'ArchiveClassesAtExit');
    const { kafka, registry } = createServers({ ...folder, data }, writing, ports);
    const written = await Promise.allSettled(
      [kafka, registry].map(async (server) => {
        await server.start(signal);
        await server.child?.stop(WRITTEN_MS);
      }),
    );
    for (const each of written) if (each.status === 'rejected') throw each.reason;
  });
  return archivesIn(path, 'SharedArchiveFile');
}
