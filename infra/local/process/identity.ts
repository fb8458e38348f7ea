import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { platform } from 'node:os';
import { codeOf } from './fault.ts';

/** Names one process for ever: the system reuses a pid, but not together with its start time. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Opaque text that is only compared. */
  readonly started: string;
}

const IS_LINUX = platform() === 'linux';

/** The contents of a file below /proc, or undefined when the process has ended. */
function readProc(path: string): string | undefined {
  try {
    return readFileSync(`/proc/${path}`, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ESRCH') return undefined;
    throw error;
  }
}

function ps(pid: number, columns: string): string {
  const { stdout } = spawnSync('ps', ['-o', columns, '-p', String(pid)], { encoding: 'utf8' });
  return stdout.trim();
}

/** State (Z: zombie) and start time of a process. */
function readState(pid: number): readonly [state: string | undefined, started: string] {
  if (!IS_LINUX) {
    const [state, ...started] = ps(pid, 'stat=,lstart=').split(/\s+/);
    return [state, started.join(' ')];
  }
  // man 5 proc_pid_stat: the fields after the name in parentheses; starttime is number 22
  const stat = readProc(`${pid}/stat`) ?? '';
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return [fields[0], `${readProc('sys/kernel/random/boot_id')?.trim()}:${fields[19]}`];
}

/** The identity of a living process, or undefined; a zombie is not alive. */
export function identify(pid: number): ProcessIdentity | undefined {
  const [state, started] = readState(pid);
  return state === undefined || /^[ZX]?$/.test(state[0] ?? '') ? undefined : { pid, started };
}

/** Whether that very process lives; false for another program that was given its pid. */
export function isAlive({ pid, started }: ProcessIdentity): boolean {
  return identify(pid)?.started === started;
}
