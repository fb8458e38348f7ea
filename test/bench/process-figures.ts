/** Figures of a running process from /proc (Linux). */
import { readFileSync } from 'node:fs';

/** The unit of times in /proc on every Linux: USER_HZ. */
const TICKS_PER_SECOND = 100;

/** Resident memory in MiB. */
export function residentMemory(pid: number): number {
  return memoryField(pid, 'VmRSS');
}

/** Resident memory in MiB of a process and its children, without what they share with others. */
export function unsharedMemory(pid: number): number {
  return [pid, ...childrenOf(pid)].reduce((sum, each) => {
    try {
      return sum + memoryField(each, 'RssAnon');
    } catch (error) {
      // a child may end while its siblings are read
      if (each === pid) throw error;
      return sum;
    }
  }, 0);
}

export function childrenOf(pid: number): readonly number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').match(/[0-9]+/g);
  return (children ?? []).map(Number);
}

function memoryField(pid: number, field: string): number {
  const status = readFileSync(`/proc/${pid}/status`, 'latin1');
  const kib = new RegExp(`^${field}:\\s+([0-9]+) kB$`, 'm').exec(status)?.[1];
  if (kib === undefined) throw new Error(`process ${pid} has no resident memory: has it ended?`);
  return Number(kib) / 1_024;
}

/** Seconds of processor time so far, all threads, user and system. */
export function processorSeconds(pid: number): number {
  return processorTimes(pid).own;
}

/** The same with all children, those that have ended too. */
export function treeProcessorSeconds(pid: number): number {
  const { own, ended } = processorTimes(pid);
  return childrenOf(pid).reduce((sum, each) => {
    try {
      return sum + treeProcessorSeconds(each);
    } catch {
      // it has ended since, and counts for its parent the next time
      return sum;
    }
  }, own + ended);
}

function processorTimes(pid: number): { readonly own: number; readonly ended: number } {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  // the program's name, in parentheses, may hold anything
  const ticks = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number);
  const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = ticks.slice(11);
  return {
    own: (user + system) / TICKS_PER_SECOND,
    ended: (endedUser + endedSystem) / TICKS_PER_SECOND,
  };
}

/** Stolen CPU time so far, in hundredths of a second: above zero only on a virtual machine. */
export function stolenTicks(): number {
  return Number(readFileSync('/proc/stat', 'latin1').split('\n', 1)[0]?.split(/ +/)[8] ?? 0);
}
