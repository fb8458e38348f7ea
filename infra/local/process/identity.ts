import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { platform } from 'node:os';

/** Names one process for ever: the system reuses a pid, but not together with its start time. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Opaque text that is only compared. */
  readonly started: string;
}

/** State letter (Z: zombie) and start time of a process; no state when it has ended. */
function readState(pid: number): readonly [state: string | undefined, started: string] {
  if (platform() !== 'linux') {
    const columns = ['-o', 'stat=,lstart=', '-p', String(pid)];
    const line = spawnSync('ps', columns, { encoding: 'utf8' }).stdout.trim();
    return [line[0], line.slice(line.indexOf(' ')).trim()];
  }
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    // man 5 proc_pid_stat: the fields after the name in parentheses; starttime is number 22
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return [fields[0], `${boot}:${fields[19]}`];
  } catch {
    return [undefined, ''];
  }
}

/** The identity of a living process, or undefined; a zombie is not alive. */
export function identify(pid: number): ProcessIdentity | undefined {
  const [state, started] = readState(pid);
  return state === undefined || 'ZX'.includes(state) ? undefined : { pid, started };
}

/** Whether that very process lives; false for another program that was given its pid. */
export function isAlive({ pid, started }: ProcessIdentity): boolean {
  return identify(pid)?.started === started;
}
