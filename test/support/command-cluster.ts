/** A cluster as a person runs it: by the command of the stack, and by the commands of its page. */
import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  clusterPortNames,
  OFFSET,
  readClusterPorts,
  type ClusterPorts,
} from '../../infra/local/cluster/ports.ts';
import {
  openSecrets,
  postgresAccess,
  type ClusterSecrets,
} from '../../infra/local/cluster/servers.ts';
import { checkout, folderAt, type Folder } from '../../infra/local/stack/folder.ts';
import { postgresUrl } from '../../infra/postgres/databases.ts';
import { runMain, type CommandRun } from './command-line.ts';
import { shellBlocks } from './documents.ts';
import { takePorts } from './free-ports.ts';
import { removeSystem } from './kept-logs.ts';

const PAGE = 'docs/operations/cluster.md';
/** The default ports of the two servers, as the page has them. */
const PORTS = ['25432', '25532'] as const;

export type PostgresName = 'postgres-1' | 'postgres-2';

export function otherOf(name: PostgresName): PostgresName {
  return name === 'postgres-1' ? 'postgres-2' : 'postgres-1';
}

/** The parts of a stack file that tests use. */
export interface ClusterFile {
  readonly postgres_url: string;
  readonly postgres_reader_url: string;
  readonly [name: string]: unknown;
}

export interface CommandCluster {
  readonly folder: Folder;
  readonly ports: ClusterPorts;
  readonly secrets: ClusterSecrets;
  /** of its commands */
  readonly settings: Readonly<Record<string, string>>;
  readonly run: CommandRun;
  readonly file: () => ClusterFile;
  readonly superuserUrl: (name: PostgresName) => string;
  /** Runs the block of the page that has this word, which no other block has. */
  readonly paste: (word: string) => Promise<void>;
  /** Runs the command of the page that ends this primary. */
  readonly kill: (primary: PostgresName) => Promise<void>;
  /** Runs the command of the page that promotes this replica. */
  readonly promote: (replica: PostgresName) => Promise<void>;
  /** Runs commands of a page, which has the folder and the ports of a cluster by default. */
  readonly shell: (script: string) => Promise<Ended>;
  /** Has the stack start what has ended. */
  readonly startAgain: () => Promise<void>;
  readonly stop: () => Promise<void>;
}

async function takeOffset(): Promise<{ readonly offset: string; readonly release: () => void }> {
  for (;;) {
    const offset = String(randomInt(3_000, 12_000));
    const ports = readClusterPorts({ [OFFSET]: offset }).flatMap((own) =>
      clusterPortNames.map((name) => own[name]),
    );
    const release = await takePorts(ports);
    if (release !== undefined) return { offset, release };
  }
}

/** The only block of the page with this word. */
function blockWith(word: string): string {
  const [block, ...others] = shellBlocks(PAGE).filter(({ code }) => code.includes(word));
  if (block === undefined || others.length > 0)
    throw new Error(`${PAGE} has not one block with ${word}`);
  return block.code;
}

/** The end of a script, and all that it printed. */
export interface Ended {
  readonly code: unknown;
  readonly printed: string;
}

/** Runs commands of a page for the cluster that these variables name. */
async function shell(script: string, place: Readonly<Record<string, string>>): Promise<Ended> {
  const env = { ...process.env, ...place };
  const bash = spawn('bash', ['-e'], { cwd: checkout, env, stdio: ['pipe', 'pipe', 'pipe'] });
  let printed = '';
  for (const stream of [bash.stdout, bash.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (printed += text));
  bash.stdin.end(script);
  const [code]: unknown[] = await once(bash, 'close');
  return { code, printed };
}

/** Starts it, and resolves when everything is ready. */
export async function startCommandCluster(
  args: readonly string[],
  services: Readonly<Record<string, string>> = {},
): Promise<CommandCluster> {
  const root = mkdtempSync(join(tmpdir(), 'clt-test-cluster-'));
  const { offset, release } = await takeOffset();
  const place = { APP_LOCAL_DIR: root, [OFFSET]: offset };
  const settings = { ...services, ...place };
  const ports = readClusterPorts(settings);
  const folder = folderAt(join(root, 'cluster'));
  const run = runMain(['start', '--cluster', ...args], settings);
  const stop = async (): Promise<void> => {
    await runMain(['down'], settings).ended();
    release();
    removeSystem(folder);
  };
  try {
    await run.prints('ready in');
  } catch (error) {
    await stop();
    throw error;
  }
  const secrets = await openSecrets(folder);
  const portOf = (name: PostgresName): string =>
    String(ports[name === 'postgres-1' ? 0 : 1].postgres);
  const here = (script: string): string => script.replaceAll('.local/', `${root}/`);
  const paste = async (word: string, changed = (code: string): string => code): Promise<void> => {
    const script = here(changed(blockWith(word)));
    const { code, printed } = await shell(script, place);
    if (code !== 0) throw new Error(`exited with ${String(code)}: ${script}\n${printed}`);
  };
  return {
    folder,
    ports,
    secrets,
    settings,
    run,
    file: () => {
      const file: ClusterFile = JSON.parse(readFileSync(folder.stack_file, 'utf8'));
      return file;
    },
    superuserUrl(name) {
      const { superuser, parameters } = postgresAccess(secrets);
      return postgresUrl(superuser, `127.0.0.1:${portOf(name)}`, 'clt', parameters);
    },
    paste,
    shell: (script) =>
      shell(
        here(script).replaceAll(/(?<=127\.0\.0\.1:)[0-9]{5}/g, (port) =>
          String(Number(port) - readClusterPorts({})[0].devnet + ports[0].devnet),
        ),
        place,
      ),
    kill: (primary) => paste('kill -9', (code) => code.replaceAll('postgres-1', primary)),
    promote: (replica) => paste('pg_promote', (code) => code.replaceAll(PORTS[1], portOf(replica))),
    startAgain: async () => void (await runMain(['up', '--cluster'], settings).ended()),
    stop,
  };
}
