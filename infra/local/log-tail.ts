import { existsSync, readFileSync } from 'node:fs';

const CHARACTERS_MAX = 400;

/** A service's log line (JSON) as time, level and message; any other line as it is. */
export function readableLine(line: string): string {
  if (!line.startsWith('{')) return line.slice(0, CHARACTERS_MAX);
  try {
    const value: unknown = JSON.parse(line);
    const fields = new Map<string, unknown>(Object.entries(Object(value)));
    const text = (name: string): string => {
      const field = fields.get(name);
      return typeof field === 'string' ? field : field === undefined ? '' : JSON.stringify(field);
    };
    const said =
      text('msg') === '' ? line : `${text('time')} ${text('level')} ${text('msg')}`.trim();
    return said.slice(0, CHARACTERS_MAX);
  } catch (error) {
    if (error instanceof SyntaxError) return line.slice(0, CHARACTERS_MAX);
    throw error;
  }
}

/** The last lines of a log file that are not blank, made readable. */
export function logTail(file: string, lines = 12): string[] {
  if (!existsSync(file)) return [];
  const all = readFileSync(file, 'utf8').split('\n');
  return all
    .filter((line) => line.trim() !== '')
    .slice(-lines)
    .map(readableLine);
}
