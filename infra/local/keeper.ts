import { setTimeout as pause } from 'node:timers/promises';
import { describeExit, type Exit } from './child.ts';
import { StackFault } from './fault.ts';
import { seconds } from './report.ts';
import { TooLate, type Server } from './server.ts';

const BACK_OFF_MS = [500, 1_000, 2_000, 5_000, 10_000, 30_000] as const;
/** After running for so long a process has proved itself, and its next fall begins at the shortest pause again. */
const PROVED_MS = 60_000;

/** What an end means: a service that ended in order, or that says its configuration is bad, is not started again. */
export function verdictOf(exit: Exit): 'restart' | 'ended' | 'misconfigured' {
  if (exit.code === 0) return 'ended';
  return exit.code === 1 ? 'misconfigured' : 'restart';
}

function firstLine(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.split('\n')[0] ?? text;
}

/**
 * Starts a process again each time that it ends unasked, after a pause that grows, until `signal` aborts.
 * `say` is told what happens; `restarted` is called after each start that worked, before it is told.
 */
export async function keep(
  server: Server,
  isService: boolean,
  signal: AbortSignal,
  say: (line: string) => void,
  restarted: () => void,
): Promise<void> {
  let falls = 0;
  let up_since = performance.now();
  let wasTold = false;
  for (;;) {
    const exit = await server.child?.exit;
    if (signal.aborted || exit === undefined) return;
    const verdict = isService ? verdictOf(exit) : 'restart';
    if (verdict === 'misconfigured' || (verdict === 'ended' && !wasTold)) {
      const why = verdict === 'ended' ? 'ended by itself' : 'refused its configuration';
      say(
        `${server.name} ${why} (${describeExit(exit)}): not started again; see ${server.child?.log_file ?? 'its log'}`,
      );
      return;
    }
    if (performance.now() - up_since > PROVED_MS) falls = 0;
    const wait_ms = BACK_OFF_MS[Math.min(falls, BACK_OFF_MS.length - 1)] ?? 0;
    falls += 1;
    say(`${server.name} ${describeExit(exit)}: starting it again in ${seconds(wait_ms)}`);
    try {
      await pause(wait_ms, undefined, { signal });
      await server.start(signal);
      up_since = performance.now();
      wasTold = false;
      if (signal.aborted) return;
      restarted();
      say(`${server.name} is ready again (process ${server.pid ?? '?'})`);
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof StackFault)) throw error;
      wasTold = error instanceof TooLate;
      say(firstLine(error));
    }
  }
}
