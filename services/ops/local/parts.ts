/** `ops start|stop|restart PART`: one service or server of the stack that runs on this machine. */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Fault } from '../../runtime/process/errors.ts';
import { readStackFile } from '../config.ts';
import { jsonOf, note, print } from '../connections.ts';
import { readService, stateText, type LocalService } from '../status/services.ts';
import { didYouMean, Misuse, type SharedArguments } from '../usage.ts';

type Action = 'start' | 'stop' | 'restart';

/** How the same is done where no supervisor of ours runs the parts. */
const ELSEWHERE: Readonly<Record<Action, (part: string) => readonly string[]>> = {
  start: (part) => [
    `docker compose up -d ${part}`,
    `kubectl scale deployment ${part} --replicas 1`,
  ],
  stop: (part) => [`docker compose stop ${part}`, `kubectl scale deployment ${part} --replicas 0`],
  restart: (part) => [
    `docker compose restart ${part}`,
    `kubectl rollout restart deployment ${part}`,
  ],
};

/** How a part is started with another setting where no supervisor of ours runs it. */
function elsewhereWith(part: string): readonly string[] {
  return [
    `write a secret into its file in APP_SECRETS_DIR, any other setting into infra/compose/NETWORK.env or docker-compose.override.yml, then docker compose up -d --force-recreate ${part}`,
    `put it where values.yaml has it, or into the config map or the secret that \`more\` names, then helm upgrade and kubectl rollout restart deployment ${part}`,
  ];
}

export async function actOnPart(
  action: Action,
  {
    part,
    stack,
    json,
    set,
  }: SharedArguments & { readonly part: string; readonly set: readonly string[] },
): Promise<number> {
  if (action === 'stop' && set.length > 0)
    throw new Misuse('stop takes no --set: start and restart do');
  const running = await runningStack(dirname(stack));
  if (running === undefined) {
    const [compose, kubernetes] = set.length > 0 ? elsewhereWith(part) : ELSEWHERE[action](part);
    throw new Misuse(
      `no stack of ${dirname(stack)} runs on this machine (npm run up starts one). In containers: ${compose}; on Kubernetes: ${kubernetes}; otherwise use the command of your own supervisor, such as systemctl`,
      'no_local_stack',
    );
  }
  const { folder, supervisor } = running;
  const names = partsOf(folder.stack_file);
  if (names.length > 0 && !names.includes(part))
    throw new Misuse(
      `the stack of ${folder.root} has no part ${part}${didYouMean(part, names)} (there are ${names.join(', ')})`,
      'no_such_part',
    );
  const settings =
    set.length === 0 ? undefined : (await import('./settings.ts')).settingsFor(part, set);
  const end = {
    start: 'is ready',
    stop: 'has stopped',
    restart: 'has stopped and is ready again',
  }[action];
  const patience = action === 'start' ? '' : ' (one that is frozen is killed after its grace time)';
  note(`${action} ${part}: waiting until it ${end}${patience}`, { json });
  if (settings !== undefined)
    note(
      'these settings hold until the stack ends: the next npm run up needs them as variables of its environment',
      { json },
    );
  const { request } = await import('../../../infra/local/process/requests.ts');
  const wanted = { action, part, ...(settings === undefined ? {} : { settings }) };
  const url = serviceUrl(folder.stack_file, part);
  const onWait =
    url === undefined || action === 'stop'
      ? () => undefined
      : following({ name: part, url }, (text) => note(`${part}: ${text}`, { json }));
  const outcomes = await request(folder.requests, supervisor, wanted, onWait);
  const { is_done = false, text = 'unknown' } = outcomes[part] ?? {};
  print(json === true ? jsonOf({ part, is_done, text }) : `${part}: ${text}`);
  return is_done ? 0 : 2;
}

/** Between two looks at a service that starts. */
const LOOK_MS = 1_000;
const ANSWER_MS = 10_000;

/** Says why a service that starts is not ready, each time that this changes. */
function following(service: LocalService, say: (text: string) => void): () => void {
  let looked_at = performance.now();
  let isLooking = false;
  let said = '';
  const look = async (): Promise<void> => {
    const health = await readService(service, ANSWER_MS);
    const text = stateText(health);
    const kind = text.replaceAll(/\d+/g, '');
    // its process starts
    if (['unreachable', 'ready'].includes(health.status) || kind === said) return;
    said = kind;
    say(text);
  };
  return () => {
    if (isLooking || performance.now() - looked_at < LOOK_MS) return;
    isLooking = true;
    void look().finally(() => {
      isLooking = false;
      looked_at = performance.now();
    });
  };
}

/** Where a service of the stack shows its status; undefined: the part is none. */
function serviceUrl(stackFile: string, part: string): string | undefined {
  const services: unknown = Reflect.get(readStackFile(stackFile), 'services');
  const url: unknown = Reflect.get(Object(Reflect.get(Object(services), part)), 'url');
  return typeof url === 'string' ? url : undefined;
}

/**
 * Throws a fault where the supervisor of the stack has ended and the stack was not stopped, as
 * after a restart of the machine.
 */
export async function assertSupervised(stackFile: string): Promise<void> {
  const file = join(dirname(stackFile), 'running.json');
  if (!existsSync(stackFile) || !existsSync(file)) return;
  const { readPidFile } = await import('../../../infra/local/process/pid-files.ts');
  if (readPidFile(file) !== undefined) return;
  throw new Fault(
    'no_supervisor',
    `the stack of ${dirname(stackFile)} has ended without being stopped, and nothing starts its parts again: npm run up starts it`,
    { retry: false },
  );
}

/** The stack of a folder, or its cluster; undefined: neither runs. */
async function runningStack(root: string) {
  const roots = [root, join(root, 'cluster')].filter((each) =>
    existsSync(join(each, 'running.json')),
  );
  // an image of the services has no supervisor, and lacks packages that these files need
  if (roots.length === 0) return undefined;
  const { readPidFile } = await import('../../../infra/local/process/pid-files.ts');
  const { folderAt } = await import('../../../infra/local/stack/folder.ts');
  for (const folder of roots.map(folderAt)) {
    const supervisor = readPidFile(folder.supervisor_file);
    if (supervisor !== undefined) return { folder, supervisor };
  }
  return undefined;
}

/** Every part that was started since the stack was. */
function partsOf(stackFile: string): readonly string[] {
  const pids: unknown = Reflect.get(readStackFile(stackFile), 'pids');
  return typeof pids === 'object' && pids !== null ? Object.keys(pids) : [];
}
