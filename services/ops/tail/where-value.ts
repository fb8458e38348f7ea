/** Fields of a record and what they are compared with. Numbers are compared exactly, whatever their size, also where they are shown as text. */

export type Literal =
  | boolean
  | null
  | { readonly text: string; /** where it is one: without quotes */ readonly number?: string };
export type Operator = '=' | '!=' | '<' | '<=' | '>' | '>=' | 'contains';

export const OPERATORS: ReadonlyMap<string, Operator> = new Map([
  ['=', '='],
  ['==', '='],
  ['!=', '!='],
  ['<', '<'],
  ['<=', '<='],
  ['>', '>'],
  ['>=', '>='],
  ['contains', 'contains'],
]);

/**
 * What stands at a path: every item where lists lie on the way, nothing where there is no such field. A path that does not begin with a field of the record
 * begins in its value, so that `amount` is `value.amount`.
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
  // a header's or an argument's name may have a point in it
  const whole = path.join('.');
  if (rest.length > 0 && Object.hasOwn(value, whole)) return within(Reflect.get(value, whole), []);
  return Object.hasOwn(value, name) ? within(Reflect.get(value, name), rest) : [];
}

/** Whether one of the values compares so. No value at all equals null. */
export function holds(values: readonly unknown[], operator: Operator, literal: Literal): boolean {
  if (values.length === 0)
    return (operator === '=') === (literal === null) && (operator === '=' || operator === '!=');
  return values.some((value) => compares(value, operator, literal));
}

function compares(value: unknown, operator: Operator, literal: Literal): boolean {
  if (operator === 'contains')
    return (
      typeof literal === 'object' &&
      literal !== null &&
      textOf(value).toLowerCase().includes(literal.text.toLowerCase())
    );
  const order = compare(value, literal);
  switch (operator) {
    case '=':
      return order === 0;
    case '!=':
      return order !== 0;
    case '<':
      return order !== undefined && order < 0;
    case '<=':
      return order !== undefined && order <= 0;
    case '>':
      return order !== undefined && order > 0;
    case '>=':
      return order !== undefined && order >= 0;
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
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
