/** The fields of a record and their comparison. Numbers are compared exactly, also as text. */

export type Literal =
  boolean | null | { readonly text: string; /** of an unquoted number */ readonly number?: string };

/** Each operator by the order of the two sides, which is undefined where they have none. */
const ORDERINGS = {
  '=': (order?: number) => order === 0,
  '==': (order?: number) => order === 0,
  '!=': (order?: number) => order !== 0,
  '<': (order = 0) => order < 0,
  '<=': (order = 1) => order <= 0,
  '>': (order = 0) => order > 0,
  '>=': (order = -1) => order >= 0,
} as const;

export type Operator = keyof typeof ORDERINGS | 'contains';
export const OPERATORS = [...Object.keys(ORDERINGS), 'contains'];

export function isOperator(text: string): text is Operator {
  return OPERATORS.includes(text);
}

/**
 * The values at a path: one for each item of the lists on the way, none without such a field. A path
 * that begins with no field of the record begins in its value: `amount` is `value.amount`.
 */
export function valuesAt(record: object, path: readonly string[]): readonly unknown[] {
  const [first = ''] = path;
  return Object.hasOwn(record, first) || !('value' in record)
    ? within(record, path)
    : within(record.value, path);
}

function within(value: unknown, path: readonly string[]): readonly unknown[] {
  if (Array.isArray(value)) return value.flatMap((item: unknown) => within(item, path));
  const [name, ...rest] = path;
  if (name === undefined) return [value];
  if (typeof value !== 'object' || value === null) return [];
  // the name of a header or an argument may contain a point
  const whole = path.join('.');
  if (rest.length > 0 && Object.hasOwn(value, whole)) return within(Reflect.get(value, whole), []);
  return Object.hasOwn(value, name) ? within(Reflect.get(value, name), rest) : [];
}

/** Whether the comparison is true of one of the values. No value at all equals null. */
export function holds(values: readonly unknown[], operator: Operator, literal: Literal): boolean {
  if (operator === 'contains') return values.some((value) => contains(value, literal));
  const holdsFor = ORDERINGS[operator];
  if (values.length === 0) return holdsFor(literal === null ? 0 : undefined);
  return values.some((value) => holdsFor(compare(value, literal)));
}

function contains(value: unknown, literal: Literal): boolean {
  if (literal === null || typeof literal === 'boolean') return false;
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  return text.toLowerCase().includes(literal.text.toLowerCase());
}

/** Below, at or above 0; undefined where the two have no order. */
function compare(value: unknown, literal: Literal): number | undefined {
  if (literal === null || typeof literal === 'boolean') return value === literal ? 0 : undefined;
  if (typeof value !== 'string' && typeof value !== 'number') return undefined;
  const { text, number } = literal;
  if (number !== undefined)
    return compareNumbers(String(value), number) ?? (String(value) === text ? 0 : undefined);
  if (typeof value === 'number') return undefined;
  const [left, right] = /^0x/i.test(text)
    ? [value.toLowerCase(), text.toLowerCase()]
    : [value, text];
  return left < right ? -1 : Number(left > right);
}

const DECIMAL = /^(-?)([0-9]+)(?:\.([0-9]+))?$/;

function compareNumbers(left: string, right: string): number | undefined {
  const [a, b] = [DECIMAL.exec(left), DECIMAL.exec(right)];
  if (a === null || b === null) return undefined;
  const digits = Math.max(a[3]?.length ?? 0, b[3]?.length ?? 0);
  const difference = scaled(a, digits) - scaled(b, digits);
  return difference < 0n ? -1 : Number(difference > 0n);
}

function scaled(
  [, sign = '', whole = '0', fraction = '']: RegExpExecArray,
  digits: number,
): bigint {
  return BigInt(`${sign}${whole}${fraction.padEnd(digits, '0')}`);
}
