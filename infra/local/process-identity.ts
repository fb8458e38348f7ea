import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { platform } from 'node:os';
import { codeOf } from './fault.ts';

/** A process for ever: a pid is used again after its process has gone, its start time is not. */
export interface ProcessIdentity {
  readonly pid: number;
  readonly started: string;
}

function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ESRCH') return undefined;
    throw error;
  }
}

function startedOnLinux(pid: number): string | undefined {
  const stat = textOf(`/proc/${pid}/stat`);
  if (stat === undefined) return undefined;
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const state = fields[0];
  if (state === 'Z' || state === 'X') return undefined;
  return `${textOf('/proc/sys/kernel/random/boot_id')?.trim() ?? 'boot'}:${fields[19] ?? ''}`;
}

function startedElsewhere(pid: number): string | undefined {
  const answer = spawnSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], { encoding: 'utf8' });
  const line = answer.stdout.trim();
  if (line === '' || line.startsWith('Z')) return undefined;
  return line.slice(line.indexOf(' ')).trim();
}

/** When the process with this pid began, as text that only serves to be compared; undefined when there is none (a zombie is none). */
export function startedAt(pid: number): string | undefined {
  return platform() === 'linux' ? startedOnLinux(pid) : startedElsewhere(pid);
}

/** The identity of a living process, or undefined. */
export function identify(pid: number): ProcessIdentity | undefined {
  const started = startedAt(pid);
  return started === undefined ? undefined : { pid, started };
}

/** Whether that very process still lives (never true for another process with its pid). */
export function isAlive(identity: ProcessIdentity): boolean {
  return startedAt(identity.pid) === identity.started;
}

/** Reads an identity back from JSON text; undefined when the text is not one. */
export function parseIdentity(text: string): ProcessIdentity | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
  if (typeof value !== 'object' || value === null || !('pid' in value) || !('started' in value))
    return undefined;
  const { pid, started } = value;
  return Number.isSafeInteger(pid) &&
    typeof pid === 'number' &&
    pid > 0 &&
    typeof started === 'string'
    ? { pid, started }
    : undefined;
}
