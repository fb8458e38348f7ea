import { setTimeout as pause } from 'node:timers/promises';
import { describeExit } from './child.ts';
import { isOutOfRoom, StackFault } from './run-program.ts';
import { EarlyExit, type Server } from './server.ts';

const BACK_OFF_MS = [500, 1_000, 2_000, 5_000, 10_000, 30_000];
/** A crash after running for this long starts again with the shortest back-off. */
const STABLE_MS = 60_000;
/** Crashes in a row, before a service is ready for the first time, that make the boot fail. */
const BOOT_CRASHES_MAX = 5;

/** The part of a Server that supervision needs. */
export type Supervisable = Pick<Server, 'name' | 'child' | 'mayRestart'> & {
  start(signal: AbortSignal, onWorking: (text: string) => void): Promise<void>;
};

interface Events {
  /** A line for a person. */
  line(text: string): void;
  /** Called after each start. */
  ready(after_ms: number, isRestart: boolean): void;
  /** The server is working on something before it is ready. */
  working(text: string): void;
}

export interface Supervised {
  /** Resolves when it is ready for the first time; rejects when it cannot become ready. */
  readonly ready: Promise<void>;
  /** Resolves at its first answer: it is ready or working. Rejects when it cannot become ready. */
  readonly answering: Promise<void>;
  /** Resolves when nobody restarts it any more. */
  readonly ended: Promise<void>;
}

/** Starts a server, and restarts it with a back-off after each crash, until `signal` aborts. */
export function supervise(
  server: Supervisable,
  isService: boolean,
  signal: AbortSignal,
  events: Events,
  back_off_ms: readonly number[] = BACK_OFF_MS,
): Supervised {
  const ready = Promise.withResolvers<void>();
  const working = Promise.withResolvers<void>();
  let wasReady = false;
  let crashes = 0;

  /**
   * One run of the process. Resolves to the reason for a restart, with the end of the log where it
   * was not ready; undefined: no restart.
   */
  const run = async (): Promise<string | undefined> => {
    const begun = performance.now();
    let isWorking = false;
    try {
      await server.start(signal, (text) => {
        isWorking = true;
        working.resolve();
        events.working(text);
      });
      events.ready(performance.now() - begun, wasReady);
      wasReady = true;
      ready.resolve();
      const exit = await server.child?.exit;
      if (signal.aborted || exit === undefined) return undefined;
      if (!isFinal()) return `${server.name} ${describeExit(exit)}`;
      const reason = exit.code === 0 ? 'ended by itself' : 'refused its configuration';
      events.line(
        `${server.name} ${reason}: not restarted; see ${server.child?.log_file}; npx ops start ${server.name} starts it again`,
      );
      return undefined;
    } catch (error) {
      if (!signal.aborted && isOutOfRoom(error))
        return `${server.name} was not started: ${error.message}`;
      if (signal.aborted || !(error instanceof StackFault)) throw error;
      const isCrash = isService && error instanceof EarlyExit && !isFinal();
      const mayRestart = isCrash && (isWorking || crashes < BOOT_CRASHES_MAX);
      if (wasReady ? error instanceof EarlyExit && isFinal() : !mayRestart) throw error;
      return error.message;
    }
  };
  /** A service that drained, or refused its configuration, would do the same after a restart. */
  const isFinal = (): boolean => {
    const code = server.child?.exited?.code;
    return isService && (code === 0 || code === 1);
  };

  const loop = async (): Promise<void> => {
    for (;;) {
      const begun = performance.now();
      const reason = await run();
      if (reason === undefined) return;
      // the log after its first line goes on in lines of its own
      const told = reason.includes('\n') ? `${reason}\n  ${server.name}` : reason;
      if (wasReady)
        await server.mayRestart(signal, (why) =>
          events.line(`${told} and stays down while ${why}`),
        );
      if (signal.aborted) return;
      if (performance.now() - begun > STABLE_MS) crashes = 0;
      const wait_ms = back_off_ms[Math.min(crashes, back_off_ms.length - 1)] ?? 0;
      crashes += 1;
      events.line(`${told}: restarting it in ${wait_ms / 1_000} s`);
      await pause(wait_ms, undefined, { signal });
    }
  };
  const ended = loop().catch((error: unknown) => {
    ready.reject(error);
    if (signal.aborted || !wasReady) return;
    if (!(error instanceof StackFault)) throw error;
    events.line(
      `${error.message}\n  ${server.name} is not restarted; npx ops start ${server.name} starts it again`,
    );
  });
  const answering = Promise.race([ready.promise, working.promise]);
  // The caller may be awaiting another server when this one fails.
  answering.catch(() => undefined);
  return { ready: ready.promise, answering, ended };
}
