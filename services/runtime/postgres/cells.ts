/**
 * Reads columns as Postgres writes them: bytea `\x..`, timestamptz in UTC
 * `2026-11-21 07:28:00.5+00`. An absent column reads as an empty one.
 */

export type Cell = string | null | undefined;

/** The hex digits of a bytea. */
export function byteaDigits(bytea: Cell): string {
  return (bytea ?? '').slice(2);
}

/** A bytea as 0x and hex digits. */
export function byteaHex(bytea: Cell): string {
  return `0x${byteaDigits(bytea)}`;
}

export function byteaBytes(bytea: Cell): Buffer {
  return Buffer.from(byteaDigits(bytea), 'hex');
}

/** `2026-11-21 07:28:00.5+00` as `2026-11-21T07:28:00.500Z`. */
export function isoTime(cell: Cell): string {
  const timestamptz = cell ?? '';
  const dot = timestamptz.indexOf('.');
  const zone = timestamptz.length - '+00'.length;
  const milliseconds =
    dot === -1 ? '000' : timestamptz.slice(dot + 1, Math.min(zone, dot + 4)).padEnd(3, '0');
  return `${timestamptz.slice(0, dot === -1 ? zone : dot).replace(' ', 'T')}.${milliseconds}Z`;
}

/** Unix milliseconds of a timestamptz. */
export function unixMilliseconds(timestamptz: Cell): number {
  return Date.parse(isoTime(timestamptz));
}
