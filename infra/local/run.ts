import { once } from 'node:events';
import { claim } from './claim.ts';
import { Refusal } from './fault.ts';
import { boot, type BootOptions } from './instance.ts';
import { leftoversIn } from './leftovers.ts';
import { seconds } from './report.ts';

export const DONE = 0;
export const REFUSED = 1;
export const FAULT = 2;
const KILLED = 130;

/** npm passes a Ctrl-C on to a process that the terminal has told already: only a later one is a second one. */
const SAME_SIGNAL_MS = 1_000;

const SIGNALS: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/** Aborts at the first signal; at a second Ctrl-C `kill` is called. Whoever asks in another way, as `down` does, waits. */
function stopOnSignal(stop: AbortController, kill: () => void): () => void {
  let interrupted_at: number | undefined;
  const heard = (signal: NodeJS.Signals): void => {
    stop.abort();
    if (signal !== 'SIGINT') return;
    if (interrupted_at !== undefined && performance.now() - interrupted_at > SAME_SIGNAL_MS) kill();
    interrupted_at ??= performance.now();
  };
  for (const signal of SIGNALS) process.on(signal, heard);
  return () => {
    for (const signal of SIGNALS) process.off(signal, heard);
  };
}

/**
 * Boots the stack of a folder, calls `ready`, and runs it until a signal (or `stop` by other means) asks it to end.
 * Gives the exit code: 0 after everything has been ended in order, 2 when the boot failed. Throws a Refusal when the folder's stack runs already.
 */
export async function runInstance(
  options: BootOptions,
  stop: AbortController,
  ready: () => void,
): Promise<number> {
  const { folder, report } = options;
  const holding = claim(folder.claim_file);
  if (!holding.held) {
    throw new Refusal(
      `the stack of ${folder.root} runs already (process ${holding.holder.pid}); npm run down stops it`,
    );
  }
  const unhear = stopOnSignal(stop, () => {
    for (const { identity } of leftoversIn(folder)) process.kill(identity.pid, 'SIGKILL');
    report.line('  killed everything');
    process.exit(KILLED);
  });
  try {
    const instance = await boot(options, stop.signal);
    ready();
    if (!stop.signal.aborted) await once(stop.signal, 'abort');
    const begun = performance.now();
    report.line('  stopping; a second Ctrl-C kills');
    await instance.stop();
    report.line(
      `  stopped in ${seconds(performance.now() - begun)}; the data stays in ${folder.data}`,
    );
    return DONE;
  } catch (error) {
    const asked = stop.signal.aborted && error instanceof Error && error.name === 'AbortError';
    if (!asked) throw error;
    report.line('  stopped before it was ready');
    return DONE;
  } finally {
    unhear();
    holding.release();
  }
}
