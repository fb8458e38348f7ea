/** The API server of Kubernetes, built from its Go module, on Debian's etcd. */
import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { terminalReport } from '../../infra/local/cli/report.ts';
import { cacheFolder, fetchOnce } from '../../infra/local/fetch/cache.ts';
import { findJava } from '../../infra/local/fetch/java.ts';
import { fetchLibraries } from '../../infra/local/fetch/maven.ts';
import { runOrFail } from '../../infra/local/process/run-program.ts';
import { takePort } from '../support/free-ports.ts';
import { systemProgram } from '../support/system-program.ts';
import { until } from '../support/until.ts';

const KUBERNETES = '37.2';
const STRIMZI = '1.2.0';
const CLOUDNATIVE_PG = 'v1.29.0';
const STRIMZI_KINDS = [
  'kafka.Kafka',
  'nodepool.KafkaNodePool',
  'topic.KafkaTopic',
  'user.KafkaUser',
];

const never = new AbortController().signal;
const report = terminalReport(process.stdout);

/** The folder of a Go module, after it was downloaded. */
async function moduleFolder(cwd: string, module: string): Promise<string> {
  const printed = await runOrFail('go', ['mod', 'download', '-json', module], {
    signal: never,
    cwd,
  });
  const { Dir: folder }: { readonly Dir: string } = JSON.parse(printed);
  return folder;
}

/** Go leaves its staged modules to whoever builds it: each at the same minor version. */
async function goModule(folder: string): Promise<void> {
  const kubernetes = await moduleFolder(folder, `k8s.io/kubernetes@v1.${KUBERNETES}`);
  const staged = readFileSync(join(kubernetes, 'go.mod'), 'utf8').matchAll(/(\S+) => \.\/staging/g);
  const replaced = Array.from(staged, ([, name]) => `replace ${name} => ${name} v0.${KUBERNETES}`);
  const lines = ['module clt/chart', 'go 1.26.0', `require k8s.io/kubernetes v1.${KUBERNETES}`];
  writeFileSync(join(folder, 'go.mod'), [...lines, ...replaced, ''].join('\n'));
}

/** The program, built once: 9 minutes of processor time. */
async function apiServer(cache: string): Promise<string> {
  const folder = await fetchOnce(
    cache,
    `api-server-${KUBERNETES}`,
    report,
    never,
    async (target) => {
      await goModule(target);
      const program = 'k8s.io/kubernetes/cmd/kube-apiserver';
      const args = ['build', '-mod=mod', '-p=1', '-trimpath', '-ldflags=-s -w', '-o=.', program];
      await runOrFail('go', args, { signal: never, cwd: target, env: process.env });
    },
  );
  return join(folder, 'kube-apiserver');
}

/** The definitions of the kinds of Strimzi and CloudNativePG, as YAML. */
export async function definitions(): Promise<readonly string[]> {
  const cache = cacheFolder(process.env);
  const name = `definitions-${STRIMZI}-${CLOUDNATIVE_PG}`;
  const folder = await fetchOnce(cache, name, report, never, async (target) => {
    const java = await findJava(process.env, never);
    const jars = join(target, 'jars');
    const maven = { java, env: process.env, report, signal: never };
    const pom = join(import.meta.dirname, 'crds.pom.xml');
    await fetchLibraries(pom, { 'strimzi.version': STRIMZI }, jars, maven);
    for (const kind of STRIMZI_KINDS) {
      const made = `io.strimzi.api.kafka.model.${kind}=${join(target, `${kind}.yaml`)}`;
      const generator = 'io.strimzi.crdgenerator.CrdGenerator';
      const args = ['-cp', join(jars, '*'), generator, '--yaml', '--api-versions', 'v1', made];
      await runOrFail(java, args, { signal: never });
    }
    rmSync(jars, { recursive: true });
    const source = `github.com/cloudnative-pg/cloudnative-pg@${CLOUDNATIVE_PG}`;
    const bases = join(await moduleFolder(target, source), 'config/crd/bases');
    const clusters = 'postgresql.cnpg.io_clusters.yaml';
    writeFileSync(join(target, clusters), readFileSync(join(bases, clusters)));
  });
  return readdirSync(folder).map((file) => readFileSync(join(folder, file), 'utf8'));
}

export interface ApiServer {
  /** Sends a resource to the path of its kind. */
  ask(method: string, path: string, yaml?: string): Promise<Answer>;
  stop(): Promise<void>;
}

interface Answer {
  readonly status: number;
  readonly body: string;
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}

/** Starts both on 127.0.0.1. */
export async function openApiServer(): Promise<ApiServer> {
  const cache = cacheFolder(process.env);
  const etcd = await systemProgram(['etcd'], 'etcd-server');
  if (etcd === undefined)
    throw new Error('there is no etcd on this machine: install the package etcd-server');
  const program = await apiServer(cache);
  const ports = await Promise.all([takePort(), takePort(), takePort()]);
  const [store, peer, api] = ports.map(({ port }) => port);
  const folder = mkdtempSync(join(tmpdir(), 'clt-test-api-server-'));
  const at = `http://127.0.0.1:${store}`;
  const peers = `http://127.0.0.1:${peer}`;
  const token = randomBytes(16).toString('hex');
  const key = join(folder, 'accounts.key');
  const tokens = join(folder, 'tokens.csv');
  writeFileSync(tokens, `${token},admin,admin,system:masters\n`);
  await runOrFail('openssl', ['genrsa', '-out', key, '2048'], { signal: never });
  const stdio = ['ignore', 'ignore', 'pipe'] as const;
  const children = [
    spawn(
      etcd,
      [
        `--data-dir=${join(folder, 'etcd')}`,
        `--listen-client-urls=${at}`,
        `--advertise-client-urls=${at}`,
        `--listen-peer-urls=${peers}`,
        `--initial-advertise-peer-urls=${peers}`,
        `--initial-cluster=default=${peers}`,
        '--unsafe-no-fsync',
      ],
      { stdio: 'ignore' },
    ),
    spawn(
      program,
      [
        `--etcd-servers=${at}`,
        '--bind-address=127.0.0.1',
        '--advertise-address=127.0.0.1',
        `--secure-port=${api}`,
        `--cert-dir=${folder}`,
        `--service-account-key-file=${key}`,
        `--service-account-signing-key-file=${key}`,
        '--service-account-issuer=https://127.0.0.1',
        `--token-auth-file=${tokens}`,
        '--authorization-mode=RBAC',
        '--service-cluster-ip-range=10.0.0.0/24',
        '--endpoint-reconciler-type=none',
      ],
      { stdio: [...stdio] },
    ),
  ] as const;
  const said = text(children[1].stderr ?? process.stdin);
  const certificate = join(folder, 'apiserver.crt');
  const ask: ApiServer['ask'] = async (method, path, yaml) => {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const type = method === 'PATCH' ? 'application/apply-patch+yaml' : 'application/yaml';
    const asking = request(
      {
        host: '127.0.0.1',
        port: api,
        path,
        method,
        ca: readFileSync(certificate),
        headers: { authorization: `Bearer ${token}`, 'content-type': type },
      },
      (answer) =>
        void text(answer).then((body) => resolve({ status: answer.statusCode ?? 0, body }), reject),
    );
    asking.once('error', reject);
    asking.end(yaml);
    return await promise;
  };
  const stop = async (): Promise<void> => {
    await Promise.all(children.map(ended));
    for (const { release } of ports) release();
    rmSync(folder, { recursive: true });
  };
  try {
    await until(
      async () => {
        if (children[1].exitCode !== null)
          throw new Error(`kube-apiserver ended: ${(await said).slice(-2_000)}`);
        if (!existsSync(certificate)) return 0;
        return await ask('GET', '/readyz').then(
          ({ status }) => status,
          () => 0,
        );
      },
      'the API server to be ready',
      (status) => status === 200,
    );
  } catch (error) {
    await stop();
    throw error;
  }
  return { ask, stop };
}
