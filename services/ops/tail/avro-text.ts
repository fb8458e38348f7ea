/**
 * Avro bytes to JSON text, by the schema they were written with and without an object in between: an analyst reads millions of records. Amounts are decimal
 * text, bytes are 0x and hex, addresses of TRON base58check, times ISO 8601 in UTC; long integers keep every digit.
 */
import { messageOf } from '../../runtime/process/errors.ts';
import { Cursor } from './cursor.ts';
import { quoted } from './json-text.ts';
import { tronText } from './tron-text.ts';

/** The JSON text of what stands at the cursor, which moves behind it. */
type Show = (at: Cursor) => string;

interface Scope {
  readonly namespace: string;
  /** by full name; one is here before its fields are, so that a schema may name itself */
  readonly named: Map<string, Show>;
}

type Attributes = Readonly<Record<string, unknown>>;

const PRIMITIVES: Readonly<Record<string, Show>> = {
  null: () => 'null',
  boolean: (at) => (at.byte() === 0 ? 'false' : 'true'),
  int: (at) => at.long().toString(),
  long: (at) => at.long().toString(),
  float: (at) => JSON.stringify(at.float()),
  double: (at) => JSON.stringify(at.double()),
  bytes: (at) => `"0x${at.hex(at.length())}"`,
  string: (at) => quoted(at.text(at.length())),
};

/** TRON's addresses are the fixed type of this name, in every namespace. */
const TRON_ADDRESS = 'TronAddress';
const ADDRESS_BYTES = 20;

/** What shows a body of this schema, given as Avro's own JSON. Throws where the schema is none, and on bytes that do not fit it. */
export function jsonOf(schema: unknown): (body: Buffer, from: number) => string {
  const show = compile(schema, { namespace: '', named: new Map() });
  return (body, from) => {
    const at = new Cursor(body, from);
    const text = show(at);
    if (at.left > 0) throw new RangeError(`${at.left} bytes follow that belong to nothing`);
    return text;
  };
}

function compile(schema: unknown, scope: Scope): Show {
  if (typeof schema === 'string') return reference(schema, scope);
  if (Array.isArray(schema)) return union(schema, scope);
  if (!isAttributes(schema)) throw new TypeError('a schema is a name, a union or an object');
  const { type } = schema;
  switch (type) {
    case 'record':
    case 'error':
      return record(schema, scope);
    case 'fixed':
      return fixed(schema, scope);
    case 'enum':
      return choice(schema, scope);
    case 'array':
      return array(schema, scope);
    case 'map':
      return map(schema, scope);
    default:
      return logical(schema) ?? compile(type, scope);
  }
}

function isAttributes(value: unknown): value is Attributes {
  return typeof value === 'object' && value !== null;
}

function reference(name: string, { namespace, named }: Scope): Show {
  const primitive = Object.hasOwn(PRIMITIVES, name) ? PRIMITIVES[name] : undefined;
  const found = primitive ?? named.get(fullName(name, namespace)) ?? named.get(name);
  if (found === undefined) throw new TypeError(`type ${name} is not defined`);
  return found;
}

function fullName(name: string, namespace: string): string {
  return name.includes('.') || namespace === '' ? name : `${namespace}.${name}`;
}

/** The logical types that are shown otherwise than what carries them. */
function logical({ type, logicalType, scale }: Attributes): Show | undefined {
  if (logicalType === 'decimal' && type === 'bytes') {
    const digits = typeof scale === 'number' ? scale : 0;
    return (at) => `"${scaled(at.decimal(at.length()), digits)}"`;
  }
  if (type !== 'long') return undefined;
  if (logicalType === 'timestamp-millis') return (at) => timeText(Number(at.long()));
  if (logicalType === 'timestamp-micros') return (at) => timeText(Number(at.long()) / 1_000);
  return undefined;
}

/** Seconds that were shown lately, as text: those of one log are close together. */
const SECONDS_MAX = 1_024;
const seconds = new Map<number, string>();

/** As JSON, quotes included. */
export function timeText(ms: number): string {
  const second = Math.floor(ms / 1_000);
  const text = seconds.get(second) ?? secondText(second);
  return text === undefined
    ? String(ms)
    : `${text}${String(Math.floor(ms) - second * 1_000).padStart(3, '0')}Z"`;
}

/** Without its end; undefined beyond what a date can be. */
function secondText(second: number): string | undefined {
  const date = new Date(second * 1_000);
  if (Number.isNaN(date.getTime())) return undefined;
  if (seconds.size >= SECONDS_MAX) seconds.clear();
  const text = `"${date.toISOString().slice(0, -4)}`;
  seconds.set(second, text);
  return text;
}

function scaled(value: string, scale: number): string {
  if (scale === 0) return value;
  const [sign, digits] = value.startsWith('-') ? ['-', value.slice(1)] : ['', value];
  const padded = digits.padStart(scale + 1, '0');
  return `${sign}${padded.slice(0, -scale)}.${padded.slice(-scale)}`;
}

/** Avro's own name of what is being defined, and where its parts look for theirs. */
function define(schema: Attributes, scope: Scope, show: Show): Scope {
  const { name, namespace } = schema;
  if (typeof name !== 'string') throw new TypeError('a record, fixed or enum has a name');
  const within = typeof namespace === 'string' ? namespace : scope.namespace;
  const full = fullName(name, within);
  scope.named.set(full, show);
  return { ...scope, namespace: full.includes('.') ? full.slice(0, full.lastIndexOf('.')) : '' };
}

function record(schema: Attributes, outer: Scope): Show {
  const parts: { readonly name: string; readonly lead: string; readonly show: Show }[] = [];
  const show: Show = (at) => {
    let text = '{';
    for (const { name, lead, show: field } of parts) {
      try {
        text += lead + field(at);
      } catch (cause) {
        throw new RangeError(`field ${name}: ${messageOf(cause)}`, { cause });
      }
    }
    return `${text}}`;
  };
  const scope = define(schema, outer, show);
  if (!Array.isArray(schema['fields'])) throw new TypeError('a record has fields');
  const fields: readonly unknown[] = schema['fields'];
  for (const field of fields) {
    if (!isAttributes(field) || typeof field['name'] !== 'string')
      throw new TypeError('a field has a name');
    const { name, type } = field;
    parts.push({
      name,
      lead: `${parts.length === 0 ? '' : ','}${JSON.stringify(name)}:`,
      show: compile(type, scope),
    });
  }
  return show;
}

function fixed(schema: Attributes, scope: Scope): Show {
  const { name, size } = schema;
  if (typeof size !== 'number') throw new TypeError('a fixed type has a size');
  const isTron =
    typeof name === 'string' &&
    name.slice(name.lastIndexOf('.') + 1) === TRON_ADDRESS &&
    size === ADDRESS_BYTES;
  const show: Show = isTron
    ? (at) => `"${tronText(at.hex(ADDRESS_BYTES))}"`
    : (at) => `"0x${at.hex(size)}"`;
  define(schema, scope, show);
  return show;
}

function choice(schema: Attributes, scope: Scope): Show {
  if (!Array.isArray(schema['symbols'])) throw new TypeError('an enum has symbols');
  const words = schema['symbols'].map((symbol: unknown) => JSON.stringify(String(symbol)));
  const show: Show = (at) => words[Number(at.long())] ?? outside('an enum');
  define(schema, scope, show);
  return show;
}

function union(branches: readonly unknown[], scope: Scope): Show {
  const shows = branches.map((branch) => compile(branch, scope));
  return (at) => (shows[Number(at.long())] ?? outside('a union'))(at);
}

function outside(what: string): never {
  throw new RangeError(`a number that ${what} does not have`);
}

function array({ items }: Attributes, scope: Scope): Show {
  const item = compile(items, scope);
  return (at) => {
    let text = '[';
    for (let count = at.count(); count > 0; count = at.count()) {
      for (; count > 0; count--) text += text.length === 1 ? item(at) : `,${item(at)}`;
    }
    return `${text}]`;
  };
}

function map({ values }: Attributes, scope: Scope): Show {
  const value = compile(values, scope);
  return (at) => {
    let text = '{';
    for (let count = at.count(); count > 0; count = at.count()) {
      for (; count > 0; count--)
        text += `${text.length === 1 ? '' : ','}${quoted(at.text(at.length()))}:${value(at)}`;
    }
    return `${text}}`;
  };
}
