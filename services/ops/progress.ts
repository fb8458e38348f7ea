/**
 * Progress of a long command, on stderr: a bar that is drawn over itself on a terminal, otherwise a
 * line whenever the text has changed. Nothing with --json.
 */
import type { SharedArguments } from './usage.ts';

const BAR_WIDTH = 20;
const COLUMNS = 100;
const CLEAR = '\r\u001b[K';

export interface Progress {
  /** `part` of the work is done, from 0 to 1; undefined: nobody knows */
  show(text: string, part?: number): void;
  /** removes the bar */
  end(): void;
}

type Output = Pick<NodeJS.WriteStream, 'isTTY' | 'columns' | 'write'>;

export function openProgress(
  { json }: Pick<SharedArguments, 'json'>,
  output: Output = process.stderr,
): Progress {
  let last = '';
  const silent = json === true;
  return {
    show(text, part) {
      if (silent || text === last) return;
      last = text;
      if (!output.isTTY) output.write(`${text}\n`);
      else output.write(`${CLEAR}${barOf(part)}${text}`.slice(0, CLEAR.length + widthOf(output)));
    },
    end() {
      if (!silent && output.isTTY && last !== '') output.write(CLEAR);
      last = '';
    },
  };
}

function widthOf({ columns }: Output): number {
  // 0: a terminal that does not tell
  return Math.min(COLUMNS, columns || COLUMNS) - 1;
}

function barOf(part: number | undefined): string {
  if (part === undefined) return '';
  const done = Math.min(1, Math.max(0, part));
  const filled = Math.floor(done * BAR_WIDTH);
  const percent = String(Math.floor(done * 100)).padStart(3);
  return `[${'#'.repeat(filled).padEnd(BAR_WIDTH, '-')}] ${percent} %  `;
}
