/** A record of the log as a line of JSON, and as text for people. */
import { timeText } from './avro-text.ts';
import { bytesJson, quoted, textOf } from './json-text.ts';
import type { BatchRecord } from './record-batch.ts';
import type { Shown } from './record-schemas.ts';

export interface Place {
  readonly topic: string;
  readonly partition: number;
}

/** One object, without a line end. Offsets are text, as all large integers are that are not of the value itself. */
export function recordJson({ topic, partition }: Place, record: BatchRecord, shown: Shown): string {
  const { offset, timestamp, key, value } = record;
  const head =
    `{"topic":${quoted(topic)},"partition":${partition},"offset":"${offset}","time":${timeText(timestamp)},"key":${bytesJson(key)}` +
    `,"headers":${record.headers_json},"type":${shown.type === null ? 'null' : quoted(shown.type)}`;
  if ('json' in shown) return `${head},"schema_id":${shown.schema_id},"value":${shown.json}}`;
  const raw = value === null ? 'null' : `"0x${value.toString('hex')}"`;
  return `${head},"schema_id":${shown.schema_id},"value":null,"error":${JSON.stringify(shown.unreadable)},"raw":${raw}}`;
}

/** So many items of a list are shown to people. */
const ITEMS_MAX = 20;
const NAME_WIDTH = 18;

/** Several lines: where and when, then the fields. A list shows its first items and how many more there are. */
export function recordText({ topic, partition }: Place, record: BatchRecord, shown: Shown): string {
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
    lines.push(
      ...fieldLines(typeof fields === 'object' && fields !== null ? fields : { value: fields }),
    );
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
    lines.push(
      `    ${name.padEnd(NAME_WIDTH)} ${Array.isArray(value) ? items.length : plain(value)}`,
    );
    for (const item of items.slice(0, ITEMS_MAX)) lines.push(`        ${plain(item)}`);
    if (items.length > ITEMS_MAX)
      lines.push(`        ... and ${items.length - ITEMS_MAX} more, which --json shows`);
  }
  return lines;
}

function plain(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
