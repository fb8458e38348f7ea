/** Values at the edges of what the log can hold, for the samples of the golden corpus. */

/** The largest integer that the Avro library writes as a number. */
export const LONG_MAX = Number.MAX_SAFE_INTEGER - 1;

export function bytes(length: number, seed: number): Buffer {
  return Buffer.from(Array.from({ length }, (_, at) => (seed * 31 + at * 7) % 256));
}
