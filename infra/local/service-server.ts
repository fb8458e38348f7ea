import { join } from 'node:path';
import type { Addresses } from './addresses.ts';
import type { Common } from './choices.ts';
import type { Folder } from './folder.ts';
import type { Ports } from './ports.ts';
import { AtWork, Server } from './server.ts';
import { serviceCommand, type ServiceSpec } from './services.ts';

const READY_MS = 120_000;
const GRACE_MS = 5_000;

/** In `/ready` of a projector that loads or builds its tables. */
const AT_WORK = /: (loading|building)\b/;
/** In that of whoever waits for one that does. */
const WAITS = /\bbeing built\b|\bis folded up to\b|waiting for the read model/;
/** It becomes another with every look, also when nothing goes on. */
const ESTIMATE = /, about \d+ s left/g;
const SAID = /"(?:message|error)":"((?:[^"\\]|\\.)*)"/;

/** Whether `/ready` at this address answers 200; rejects with what it says instead, and with `AtWork` when tables are being made. */
export async function readyAnswers(url: string): Promise<boolean> {
  const answer = await fetch(`${url}/ready`, { signal: AbortSignal.timeout(2_000) });
  const body = await answer.text();
  if (answer.status === 200) return true;
  const said = SAID.exec(body)?.[1]?.replaceAll(ESTIMATE, '') ?? body;
  if (AT_WORK.test(said)) throw new AtWork(said.slice(0, 200));
  if (WAITS.test(said)) throw new AtWork(said.slice(0, 200), false);
  throw new Error(`/ready answers ${answer.status}: ${body.slice(0, 200)}`);
}

/** A service of the table as a process that can be started, stopped and started again. `own` are settings that the user gave. */
export function serviceServer(
  spec: ServiceSpec,
  common: Common,
  at: Addresses,
  ports: Ports,
  folder: Folder,
  own: Readonly<Record<string, string>>,
): Server {
  const [first, ...others] = spec.ports;
  const place = { http_host: '127.0.0.1', ports, data: join(folder.data, spec.name) };
  return new Server(
    {
      name: spec.name,
      version: '',
      ports: [ports[first], ...others.map((name) => ports[name])],
      prepare: () => Promise.resolve(serviceCommand(spec, common, at, place, own)),
      answers: () => readyAnswers(`http://127.0.0.1:${ports[first]}`),
      stop_signal: 'SIGTERM',
    },
    folder,
    { ready_ms: READY_MS, stop_ms: Number(common.drain_ms) + GRACE_MS },
  );
}
