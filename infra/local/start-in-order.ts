import { describeExit } from './child.ts';
import { verdictOf } from './keeper.ts';
import type { Report } from './report.ts';
import { TooLate, type Server } from './server.ts';

/**
 * Starts each when the one before is ready or at work: who makes tables may take hours, and the earlier ones are read meanwhile. Resolves when all are ready, and
 * tells `ready` of each. One that falls at its work is started again. Rejects with the first fault; then nothing of them is still starting, and those that run are the
 * caller's to stop.
 */
export async function startInOrder(
  servers: readonly Server[],
  signal: AbortSignal,
  report: Report,
  ready: (server: Server, after_ms: number) => void,
): Promise<void> {
  const failing = new AbortController();
  const failed = Promise.withResolvers<never>();
  // of which the one that is waited for is told just then
  failed.promise.catch(() => undefined);
  const either = AbortSignal.any([signal, failing.signal]);
  const starts: Promise<void>[] = [];
  try {
    for (const server of servers) {
      report.now(`starting ${server.name}`);
      const begun = performance.now();
      const isAtWork = Promise.withResolvers<void>();
      const atWork = (what: string): void => {
        report.now(`${server.name} is at work: ${what}`);
        isAtWork.resolve();
      };
      const start = startAtLast(server, either, report, atWork).then(() =>
        ready(server, performance.now() - begun),
      );
      start.catch(failed.reject);
      starts.push(start);
      await Promise.race([start, isAtWork.promise, failed.promise]);
    }
    await Promise.all(starts);
  } catch (error) {
    failing.abort();
    await Promise.allSettled(starts);
    throw error;
  }
}

/** As often as it falls at its work: what it has done so far is not lost. */
async function startAtLast(
  server: Server,
  signal: AbortSignal,
  report: Report,
  atWork: (what: string) => void,
): Promise<void> {
  for (;;) {
    let wasAtWork = false;
    try {
      return await server.start(signal, (what) => {
        wasAtWork = true;
        atWork(what);
      });
    } catch (error) {
      const exit = server.child?.exited;
      if (
        signal.aborted ||
        error instanceof TooLate ||
        !wasAtWork ||
        exit === undefined ||
        verdictOf(exit) !== 'restart'
      )
        throw error;
      report.line(`  ${server.name} ${describeExit(exit)}: starting it again`);
    }
  }
}
