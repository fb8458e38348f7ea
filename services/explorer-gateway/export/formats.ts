/**
 * Formats of an export: the interface's JSON objects line by line, or the same objects as records
 * of CSV (RFC 4180). Written by hand: csv-stringify takes parsed values, and so numbers that were
 * rounded, and up to twice as long.
 */
import { FORMULA, SIGNED_NUMBER } from '../../../schemas/csv.ts';

export interface ExportFormat {
  /** of the path */
  readonly extension: 'csv' | 'ndjson';
  readonly content_type: string;
  /** the text before the first row; `fields` are the objects' fields, separated by commas */
  readonly opening: (fields: string) => string;
  /** the line of one object, JSON text without nested objects */
  readonly row: (object: string) => string;
}

export const CSV: ExportFormat = {
  extension: 'csv',
  content_type: 'text/csv; charset=utf-8; header=present',
  opening: (fields) => `${fields}\r\n`,
  row: (object) =>
    `${Array.from(object.matchAll(FIELD), ([, value = '']) => csvValue(value)).join(',')}\r\n`,
};

export const NDJSON: ExportFormat = {
  extension: 'ndjson',
  content_type: 'application/x-ndjson; charset=utf-8',
  opening: () => '',
  row: (object) => `${object}\n`,
};

/** `"name":value` of a flat object, its value captured. Linear in the length of any text. */
const FIELD = /"[^"\\]*(?:\\.[^"\\]*)*":("[^"\\]*(?:\\.[^"\\]*)*"|[^,}]+)/g;
/** Quoted besides commas, quotes and ends of lines: an empty text, which is not null. */
const QUOTED = /^$|[",;\t\r\n]/;

/**
 * A JSON value: null is empty, numbers keep their digits. A text that a spreadsheet would compute
 * gets an apostrophe: quotes do not keep it from that.
 */
function csvValue(json: string): string {
  if (!json.startsWith('"')) return json === 'null' ? '' : json;
  const text = json.includes('\\') ? String(JSON.parse(json)) : json.slice(1, -1);
  const safe = FORMULA.test(text) && !SIGNED_NUMBER.test(text) ? `'${text}` : text;
  return QUOTED.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
