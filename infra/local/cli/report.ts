/** Where the progress of a command is shown. */
export interface Report {
  /** A line that stays. */
  line(text: string): void;
  /** The current activity, which replaces the one before. */
  now(text: string): void;
}

/** In a file the activity is written when nothing was written for this long. */
const QUIET_MS = 5_000;

/** A report for a terminal, where one line shows the current activity, or for a file. */
export function terminalReport(out: NodeJS.WriteStream): Report {
  // A closed terminal or pipe must not end the stack in the middle of its shutdown.
  out.on('error', () => undefined);
  let isActivityShown = false;
  let written_at = performance.now();
  const clear = (): void => {
    if (isActivityShown) out.write('\r\u001B[K');
    isActivityShown = false;
  };
  return {
    line(text) {
      clear();
      out.write(`${text}\n`);
      written_at = performance.now();
    },
    now(text) {
      if (out.isTTY) {
        clear();
        out.write(`  ${text}`.slice(0, (out.columns || 80) - 1));
        isActivityShown = true;
      } else if (performance.now() - written_at >= QUIET_MS) {
        out.write(`  ${text}\n`);
        written_at = performance.now();
      }
    },
  };
}

/** Milliseconds as seconds with one digit. */
export function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}
