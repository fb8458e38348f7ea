/** Reads JSON from other systems. A problem names the field and what was expected there. */

export type Parsed<T> = { readonly value: T } | { readonly problem: string };

/** Thrown by the readers below, caught by `parsed`. */
export class Mismatch extends Error {
  readonly path: string;
  readonly expected: string;
  constructor(path: string, expected: string) {
    super(`${path}: expected ${expected}`);
    this.path = path;
    this.expected = expected;
  }
  inside(outer: string): Mismatch {
    const isDirect = this.path === '' || this.path.startsWith('[');
    return new Mismatch(`${outer}${isDirect ? '' : '.'}${this.path}`, this.expected);
  }
}

export interface Format {
  readonly pattern: RegExp;
  readonly expected: string;
}

export function parsed<T>(json: unknown, read: (json: unknown) => T): Parsed<T> {
  try {
    return { value: read(json) };
  } catch (error) {
    if (error instanceof Mismatch) return { problem: error.message };
    throw error;
  }
}

export function isRecord(json: unknown): json is Readonly<Record<string, unknown>> {
  return typeof json === 'object' && json !== null && !Array.isArray(json);
}

export function field(json: unknown, key: string): unknown {
  if (!isRecord(json)) throw new Mismatch('', 'an object');
  return json[key];
}

/** Reads the value of a field; a mismatch inside it names the whole path. */
export function within<T>(json: unknown, key: string, read: (value: unknown) => T): T {
  const value = field(json, key);
  try {
    return read(value);
  } catch (error) {
    throw error instanceof Mismatch ? error.inside(key) : error;
  }
}

export function list<T>(
  json: unknown,
  key: string,
  read: (item: unknown, index: number) => T,
): readonly T[] {
  const items = field(json, key);
  if (!Array.isArray(items)) throw new Mismatch(key, 'a list');
  return items.map((item: unknown, index) => {
    try {
      return read(item, index);
    } catch (error) {
      throw error instanceof Mismatch ? error.inside(`${key}[${index}]`) : error;
    }
  });
}

export function text(json: unknown, key: string, { pattern, expected }: Format): string {
  const value = field(json, key);
  if (typeof value !== 'string' || !pattern.test(value)) throw new Mismatch(key, expected);
  return value;
}

export function flag(json: unknown, key: string): boolean {
  const value = field(json, key);
  if (typeof value !== 'boolean') throw new Mismatch(key, 'true or false');
  return value;
}

/** At most 2^53 - 2, the maximum of Avro's JavaScript encoder. */
export function count(json: unknown, key: string): number {
  const value = field(json, key);
  const isCount =
    typeof value === 'number' &&
    Number.isSafeInteger(value) &&
    value >= 0 &&
    value < Number.MAX_SAFE_INTEGER;
  if (!isCount) throw new Mismatch(key, 'an integer from 0 to 2^53 - 2');
  return value;
}
