/** A record of the log as a line of JSON, and as text for people. */
import { isUtf8 } from 'node:buffer';
import type { LogRecord } from '../../runtime/log-record.ts';
import { quoted, timeText } from './avro-text.ts';
import type { Shown } from './record-schemas.ts';

export interface Place {
  readonly topic: string;
  readonly partition: number;
}

/** One object, without a line end. Offsets are text, as all large integers are that are not of the value itself. */
export function recordJson({ topic, partition }: Place, record: LogRecord, shown: Shown): string {
  const { offset, timestamp, key, value } = record;
  const head =
    `{"topic":${JSON.stringify(topic)},"partition":${partition},"offset":"${offset}","time":${timeText(timestamp)},"key":${bytesJson(key)}` +
    `,"headers":${headersJson(record.headers)},"type":${shown.type === null ? 'null' : JSON.stringify(shown.type)}`;
  if ('json' in shown) return `${head},"schema_id":${shown.schema_id},"value":${shown.json}}`;
  const raw = value === null ? 'null' : `"0x${value.toString('hex')}"`;
  return `${head},"schema_id":${shown.schema_id},"value":null,"error":${JSON.stringify(shown.unreadable)},"raw":${raw}}`;
}

/** What stands in text for bytes that are none. */
const NO_TEXT = '\uFFFD';

/** Text where the bytes are text, else 0x and hex. */
export function textOf(bytes: Buffer | string): string {
  if (typeof bytes === 'string') return bytes;
  const text = bytes.toString('utf8');
  return !text.includes(NO_TEXT) || isUtf8(bytes) ? text : `0x${bytes.toString('hex')}`;
}

function bytesJson(bytes: Buffer | string | null | undefined): string {
  return bytes === null || bytes === undefined ? 'null' : quoted(textOf(bytes));
}

function headersJson(headers: LogRecord['headers']): string {
  let text = '{';
  for (const name in headers) {
    const value = headers[name];
    const shown = Array.isArray(value) ? `[${value.map(bytesJson).join(',')}]` : bytesJson(value);
    text += `${text.length === 1 ? '' : ','}${quoted(name)}:${shown}`;
  }
  return `${text}}`;
}

/** So many items of a list are shown to people. */
const ITEMS_MAX = 20;
const NAME_WIDTH = 18;

/** Several lines: where and when, then the fields. A list shows its first items and how many more there are. */
export function recordText({ topic, partition }: Place, record: LogRecord, shown: Shown): string {
  const { offset, timestamp, key, value, headers } = record;
  const said = Object.entries(headers).map(
    ([name, each]) =>
      `${name}=${[each]
        .flat()
        .map((one) => textOf(one ?? ''))
        .join('|')}`,
  );
  const lines = [
    `${topic}/${partition}@${offset}  ${timeText(timestamp).slice(1, -1)}  ${shown.type ?? '?'}  key ${key === null ? '-' : textOf(key)}`,
  ];
  if (said.length > 0) lines.push(`    ${said.join('  ')}`);
  if ('json' in shown) {
    const fields: unknown = JSON.parse(shown.json);
    lines.push(...fieldLines(typeof fields === 'object' && fields !== null ? fields : { value: fields }));
  } else {
    lines.push(`    not readable: ${shown.unreadable}`);
    if (value !== null) lines.push(`    0x${value.toString('hex')}`);
  }
  return `${lines.join('\n')}\n`;
}

function fieldLines(fields: object): readonly string[] {
  const lines: string[] = [];
  for (const [name, value] of Object.entries<unknown>({ ...fields })) {
    const items: readonly unknown[] = Array.isArray(value) ? value : [];
    lines.push(`    ${name.padEnd(NAME_WIDTH)} ${Array.isArray(value) ? items.length : plain(value)}`);
    for (const item of items.slice(0, ITEMS_MAX)) lines.push(`        ${plain(item)}`);
    if (items.length > ITEMS_MAX) lines.push(`        ... and ${items.length - ITEMS_MAX} more, which --json shows`);
  }
  return lines;
}

function plain(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
