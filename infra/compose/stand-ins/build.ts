/**
 * `infra/node.sh infra/compose/stand-ins/build.ts`: builds images under the names of the official
 * ones that docker-compose.yml uses, for machines that cannot pull them. README.md beside this file
 * says what each imitates.
 */
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parse } from 'yaml';
import { seconds, terminalReport, type Report } from '../../local/cli/report.ts';
import { cacheFolder, fetchOnce } from '../../local/fetch/cache.ts';
import { findPrograms } from '../../local/fetch/programs.ts';
import { runOrFail, runProgram, StackFault } from '../../local/process/run-program.ts';
import { checkout } from '../../local/stack/folder.ts';

const DEBIAN = 'bookworm';
const BASE = `debian:${DEBIAN}-slim`;
/** Images that have it are stand-ins, and those that are made of them. */
export const STAND_IN_LABEL = 'clt.stand-in';

/** The files that the image of each folder gets, by their place beside its Dockerfile. */
type Files = Readonly<Record<string, string>>;

interface ComposeFile {
  readonly services: Readonly<Record<string, { readonly image: string }>>;
}

/** The name and version of the image of a container, without a digest. */
function imageOf(container: string): string {
  const text = readFileSync(join(checkout, 'docker-compose.yml'), 'utf8');
  const file: ComposeFile = parse(text, { merge: true, maxAliasCount: -1 });
  const image = file.services[container]?.image;
  if (image === undefined)
    throw new StackFault(`docker-compose.yml has no ${container}: remove its folder of stand-ins`);
  return image.replace(/@.*/, '');
}

/** The mirror from which apt of this machine installs Debian. */
async function mirror(signal: AbortSignal): Promise<string> {
  const format = ['--format', '$(SITE) $(CODENAME)', 'Created-By: Packages'];
  const lines = (await runOrFail('apt-get', ['indextargets', ...format], { signal })).split('\n');
  const site = lines.find((line) => line.endsWith(` ${DEBIAN}`))?.split(' ')[0];
  if (site !== undefined) return site;
  throw new StackFault(
    `apt of this machine has no source of Debian ${DEBIAN}: add one and run apt-get update`,
  );
}

/** The image that all others are made of. It is imported once for each engine. */
async function importDebian(
  cache: string,
  env: NodeJS.ProcessEnv,
  report: Report,
  signal: AbortSignal,
): Promise<void> {
  const { end } = await runProgram('docker', ['image', 'inspect', BASE], { env, signal });
  if (end === 'done') return;
  const folder = await fetchOnce(cache, `debian-${DEBIAN}`, report, signal, async (target) => {
    const root = join(target, 'root');
    const from = await mirror(signal);
    await runOrFail('debootstrap', ['--variant=minbase', DEBIAN, root, from], {
      signal,
      onOutput: (text) => report.now(`debootstrap: ${text.trim().split('\n').at(-1) ?? ''}`),
    });
    rmSync(join(root, 'var/cache/apt/archives'), { recursive: true });
    await runOrFail('tar', ['-C', root, '-cf', join(target, 'root.tar'), '.'], { signal });
    rmSync(root, { recursive: true });
  });
  await runOrFail('docker', ['import', join(folder, 'root.tar'), BASE], { env, signal });
}

/** Builds the image of one folder here. */
async function buildOne(
  folder: string,
  image: string,
  files: Files,
  env: NodeJS.ProcessEnv,
  report: Report,
  signal: AbortSignal,
): Promise<void> {
  const begun = performance.now();
  const context = mkdtempSync(join(tmpdir(), 'clt-stand-in-'));
  try {
    cpSync(join(import.meta.dirname, folder), context, { recursive: true });
    for (const [place, source] of Object.entries(files)) {
      const target = join(context, place);
      mkdirSync(dirname(target), { recursive: true });
      cpSync(source, target, { recursive: true, verbatimSymlinks: true });
      // folders of the cache are for their owner alone
      chmodSync(target, 0o755);
    }
    const labels = ['--label', `${STAND_IN_LABEL}=${image}`];
    await runOrFail('docker', ['build', '--network', 'host', ...labels, '--tag', image, context], {
      env,
      signal,
      onOutput: (text) => report.now(`building ${image}: ${text.trim().split('\n').at(-1) ?? ''}`),
    });
  } finally {
    rmSync(context, { recursive: true });
  }
  report.line(`  built    ${image.padEnd(44)} ${seconds(performance.now() - begun)}`);
}

/** Builds all stand-ins with the engine that `docker` asks in this environment. */
export async function buildStandIns(
  env: NodeJS.ProcessEnv,
  report: Report,
  signal: AbortSignal,
): Promise<void> {
  const cache = cacheFolder(env);
  mkdirSync(cache, { recursive: true });
  const programs = await findPrograms(cache, env, report, signal);
  const npm = (await runOrFail('npm', ['root', '--global'], { signal })).trim();
  await importDebian(cache, env, report, signal);
  const build = (folder: string, image: string, files: Files): Promise<void> =>
    buildOne(folder, image, files, env, report, signal);
  await build('java', 'clt-stand-in-java', {});
  await build('node', `node:${process.versions.node}-slim`, {
    'bin/node': process.execPath,
    npm: join(npm, 'npm'),
    'authorities.crt': '/etc/ssl/certs/ca-certificates.crt',
  });
  await build('kafka', imageOf('kafka'), { libs: dirname(programs.kafka_classpath) });
  await build('registry', imageOf('registry'), { deployments: dirname(programs.registry_jar) });
  await build('postgres', imageOf('postgres'), { native: programs.postgres });
  await build('redis', imageOf('redis'), { 'redis-server': programs.redis_server });
  await build('prometheus', imageOf('prometheus'), {});
  await build('alertmanager', imageOf('alertmanager'), {});
  await build('node-exporter', imageOf('node-exporter'), {});
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const ended = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => ended.abort());
  await buildStandIns(process.env, terminalReport(process.stdout), ended.signal);
}
