/** Bytes of a log as JSON text. */
import { isUtf8 } from 'node:buffer';

/** Text that is the same in JSON as it is. */
const PLAIN = /^[ !#-[\]-~]*$/;
/** What stands in text for bytes that are none. */
const NO_TEXT = '\uFFFD';

/** Quotes included. */
export function quoted(text: string): string {
  return PLAIN.test(text) ? `"${text}"` : JSON.stringify(text);
}

/** Text where the bytes are text, else 0x and hex. */
export function textOf(bytes: Buffer | string): string {
  if (typeof bytes === 'string') return bytes;
  const text = bytes.toString('utf8');
  return !text.includes(NO_TEXT) || isUtf8(bytes) ? text : `0x${bytes.toString('hex')}`;
}

/** The same of a part of some bytes, without making another object of it. */
export function textIn(bytes: Buffer, from: number, to: number): string {
  const text = bytes.toString('utf8', from, to);
  return text.includes(NO_TEXT) ? textOf(bytes.subarray(from, to)) : text;
}

export function bytesJson(bytes: Buffer | string | null | undefined): string {
  return bytes === null || bytes === undefined ? 'null' : quoted(textOf(bytes));
}

type Values = Buffer | string | (Buffer | string)[] | undefined;

/** One object; several values of one name are a list. */
export function headersJson(headers: Readonly<Record<string, Values>>): string {
  const fields = Object.entries(headers).map(([name, value]) => {
    const shown = Array.isArray(value) ? `[${value.map(bytesJson).join(',')}]` : bytesJson(value);
    return `${quoted(name)}:${shown}`;
  });
  return `{${fields.join(',')}}`;
}
