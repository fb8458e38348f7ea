/** Where progress is shown. */
export interface Report {
  /** A line that stays. */
  line(text: string): void;
  /** What is going on just now: replaces what was said before. */
  now(text: string): void;
}

export const silentReport: Report = { line: () => undefined, now: () => undefined };

const QUIET_MS = 5_000;

/** A report for a terminal (the current state on one line that is written over), or for a file (lines only, the state now and then). */
export function terminalReport(out: NodeJS.WriteStream, clock: () => number): Report {
  // A terminal that was closed, or a pipe whose reader has gone, must not end the stack half-way through its shutdown.
  out.on('error', () => undefined);
  let shown = false;
  let said_at = clock();
  const clear = (): void => {
    if (shown) out.write('\r\u001B[K');
    shown = false;
  };
  return {
    line(text) {
      clear();
      out.write(`${text}\n`);
      said_at = clock();
    },
    now(text) {
      if (out.isTTY) {
        clear();
        out.write(`  ${text}`.slice(0, (out.columns || 80) - 1));
        shown = true;
      } else if (clock() - said_at >= QUIET_MS) {
        out.write(`  ${text}\n`);
        said_at = clock();
      }
    },
  };
}

/** Milliseconds as seconds with one digit. */
export function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}
