/** A record of the log as a line of JSON, and as text for people. */
import { isUtf8 } from 'node:buffer';
import type { LogRecord } from '../../runtime/kafka/record.ts';
import type { Shown } from './record-schemas.ts';
import { shownTime } from './shown-types.ts';

/** Stands in decoded text for bytes that are not UTF-8. */
const REPLACEMENT = '\uFFFD';

/** The text where the bytes are UTF-8, otherwise 0x and hex. */
export function textOf(bytes: Buffer | string): string {
  if (typeof bytes === 'string') return bytes;
  const text = bytes.toString('utf8');
  return !text.includes(REPLACEMENT) || isUtf8(bytes) ? text : `0x${bytes.toString('hex')}`;
}

/** One object, without a line end. Offsets are text. */
export function recordJson(
  topic: string,
  partition: number,
  { offset, timestamp, key, value, headers }: LogRecord,
  shown: Shown,
): string {
  const line = {
    topic,
    partition,
    offset: offset.toString(),
    time: shownTime(timestamp),
    key: key === null ? null : textOf(key),
    headers: textsOf(headers),
    type: shown.type,
    schema_id: shown.schema_id,
  };
  if (shown.unreadable === undefined) return JSON.stringify({ ...line, value: shown.value });
  const raw = value === null ? null : `0x${value.toString('hex')}`;
  return JSON.stringify({ ...line, value: null, error: shown.unreadable, raw });
}

function textsOf(headers: LogRecord['headers']): Record<string, string | readonly string[]> {
  const texts: Record<string, string | readonly string[]> = {};
  for (const name in headers) {
    const value = headers[name] ?? '';
    texts[name] = Array.isArray(value) ? value.map(textOf) : textOf(value);
  }
  return texts;
}

/** Items of a list that are shown to people. */
const ITEMS_MAX = 20;
const NAME_WIDTH = 18;

/** Several lines: where and when, then the fields. A list shows its first items and its length. */
export function recordText(
  topic: string,
  partition: number,
  { offset, timestamp, key, value, headers }: LogRecord,
  shown: Shown,
): string {
  const lines = [
    `${topic}/${partition}@${offset}  ${shownTime(timestamp)}  ${shown.type ?? '?'}  key ${key === null ? '-' : textOf(key)}`,
  ];
  const named = Object.entries(textsOf(headers)).map(
    ([name, texts]) => `${name}=${[texts].flat().join('|')}`,
  );
  if (named.length > 0) lines.push(`    ${named.join('  ')}`);
  if (shown.unreadable !== undefined) {
    lines.push(`    not readable: ${shown.unreadable}`);
    if (value !== null) lines.push(`    0x${value.toString('hex')}`);
  } else {
    const { value: body } = shown;
    const fields: object = typeof body === 'object' && body !== null ? body : { value: body };
    for (const [name, field] of Object.entries<unknown>({ ...fields })) {
      const items: readonly unknown[] = Array.isArray(field) ? field : [];
      const summary = Array.isArray(field) ? items.length : plain(field);
      lines.push(`    ${name.padEnd(NAME_WIDTH)} ${summary}`);
      for (const item of items.slice(0, ITEMS_MAX)) lines.push(`        ${plain(item)}`);
      if (items.length > ITEMS_MAX)
        lines.push(`        ... and ${items.length - ITEMS_MAX} more, which --json shows`);
    }
  }
  return `${lines.join('\n')}\n`;
}

function plain(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
