/**
 * A tail as lines of JSON for one page. The page's pace is the tail's: while it does not read,
 * nothing is fetched, and little is held. An empty line now and then shows that the stream lives,
 * and a line with `waiting` says what does not answer.
 */
import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { messageOf } from '../../runtime/process/errors.ts';
import type { TopicOutput } from '../tail/read-topic.ts';

const BEAT_MS = 5_000;
/** A longer line is shown with the first items of each list. */
const LINE_CHARACTERS_MAX = 32 * 1_024;
const ITEMS_MAX = 20;
const TEXT_CHARACTERS_MAX = 4_096;

/** Ends with the tail, with the signal, or when the page has left. */
export function recordStream(
  run: (output: TopicOutput) => Promise<unknown>,
  signal: AbortSignal,
  beat_ms = BEAT_MS,
): AsyncIterable<string> {
  const lines = new PassThrough({ encoding: 'utf8' });
  const left = new AbortController();
  const ending = AbortSignal.any([signal, left.signal]);
  // an idle topic has nothing to send to a page that has left
  const beat = setInterval(() => lines.writableLength === 0 && lines.write('\n'), beat_ms);
  lines.once('close', () => {
    clearInterval(beat);
    left.abort();
  });
  let noted: string | null = null;
  const note = (waiting: string | null): void => {
    if (waiting !== noted && lines.writable) lines.write(`${JSON.stringify({ waiting })}\n`);
    noted = waiting;
  };
  const write = async (text: string): Promise<boolean> => {
    if (!lines.writable) return false;
    if (lines.write(bounded(text))) return true;
    return once(lines, 'drain', { signal: ending }).then(
      () => true,
      () => false,
    );
  };
  const failing = new Map<string, string>();
  const onFault: TopicOutput['onFault'] = (fault, what) => {
    if (fault === undefined) failing.delete(what);
    else failing.set(what, fault.message);
    note([...failing.values()][0] ?? null);
  };
  run({ write, onFault, signal: ending })
    .catch((error: unknown) => note(messageOf(error)))
    .finally(() => {
      clearInterval(beat);
      lines.end();
    });
  return {
    [Symbol.asyncIterator]() {
      const pieces: AsyncIterator<string, undefined> = lines[Symbol.asyncIterator]();
      return {
        next: () => pieces.next(),
        // a page may leave before the first piece, when that iterator would not end the stream
        return() {
          lines.destroy();
          return Promise.resolve({ done: true, value: undefined });
        },
      };
    },
  };
}

/** Text of whole lines, none of them too long for a page. */
function bounded(text: string): string {
  if (text.length <= LINE_CHARACTERS_MAX) return text;
  return text
    .split('\n')
    .map((line) => (line.length <= LINE_CHARACTERS_MAX ? line : shortLine(line)))
    .join('\n');
}

function shortLine(line: string): string {
  const record: unknown = JSON.parse(line);
  return JSON.stringify(short(record));
}

function short(value: unknown): unknown {
  if (typeof value === 'string' && value.length > TEXT_CHARACTERS_MAX)
    return `${value.slice(0, TEXT_CHARACTERS_MAX)}… (${value.length} characters)`;
  if (Array.isArray(value)) {
    const items = value.slice(0, ITEMS_MAX).map(short);
    const more = value.length - items.length;
    return more === 0 ? items : [...items, `… and ${more} more: ops tail --json shows them`];
  }
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, short(each)]));
}
