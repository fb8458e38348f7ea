/** Rows of an export as text: the interface's JSON objects line by line, or the same objects as records of CSV. */

export interface ExportFormat {
  /** of the path */
  readonly extension: 'csv' | 'ndjson';
  readonly content_type: string;
  /** before the first row; `fields` are the names of the objects' fields in their order */
  readonly opening: (fields: readonly string[]) => string;
  /** of one object, JSON text without nested objects */
  readonly row: (object: string) => string;
}

export const CSV: ExportFormat = {
  extension: 'csv',
  content_type: 'text/csv; charset=utf-8; header=present',
  opening: (fields) => `${fields.join(',')}\r\n`,
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
/** Commas, quotes and ends of lines must be quoted, and an empty text, which is not null. What a spreadsheet would take for a formula is quoted too, and not altered. */
const QUOTED = /^$|^[=+\-@\t]|[",\r\n]/;

/** A JSON value: null is empty, numbers keep their digits. */
function csvValue(json: string): string {
  if (!json.startsWith('"')) return json === 'null' ? '' : json;
  const text = json.includes('\\') ? String(JSON.parse(json)) : json.slice(1, -1);
  return QUOTED.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
