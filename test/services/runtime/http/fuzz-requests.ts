/** Random requests to an HTTP interface: some fit its document, some are hardly HTTP. */
import * as fc from 'fast-check';
import { anyCharacter } from '../../../support/any-character.ts';
import type { OpenApi, Schema } from '../../../../schemas/http-api/document.ts';

export interface Sent {
  readonly method: string;
  /** the request target, as it is on the wire */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

export interface Places {
  readonly paths: OpenApi['paths'];
  /** existing hashes, addresses, heights and ids */
  readonly known: readonly string[];
  /** values of Authorization, good and bad */
  readonly authorizations: readonly string[];
}

const STRANGE_VALUES = [
  ...'0 -1 +1 00 1.0 1e3 0x 0x10 null NaN undefined true __proto__ constructor * % %00 .. . ../.. // \\ ; { [] 🚕 １'.split(
    ' ',
  ),
  '',
  ' ',
  "' OR 1=1 --",
  '\0',
  '\u2028',
  '\ufeff',
  '9'.repeat(300),
  'a1'.repeat(1_000),
  String(2 ** 31),
  String(2n ** 63n),
  String(2n ** 64n),
  String(2n ** 256n),
];
const OTHER_METHODS =
  'HEAD POST PUT PATCH DELETE OPTIONS TRACE PROPFIND QUERY SEARCH PURGE LINK BREW'.split(' ');
const TARGETS = [
  '*',
  '/',
  '//',
  '/.',
  '/%',
  '/%2e%2e',
  'http://[/x',
  'http://other/health',
  '/docs/',
  '/docs/x',
  '/favicon.ico',
  '/graphql/ws',
  '/metrics',
  '/status',
];
const HEADERS: Readonly<Record<string, readonly string[]>> = {
  accept: ['*/*', 'application/json', 'text/html', 'text/csv;q=0', 'x', ''],
  'accept-encoding': ['br', 'gzip, zstd;q=0.5', 'identity;q=0', '*', '*;q=0', 'x;q=y', ''],
  'if-none-match': ['*', '"x"', 'W/"x", "y"', 'W/', ','],
  'if-modified-since': ['Thu, 01 Jan 1970 00:00:00 GMT', 'yesterday'],
  range: ['bytes=0-1', 'bytes=9-1', 'bytes=-', 'x'],
  origin: ['null', 'https://example.org'],
  'access-control-request-method': ['GET', 'BREW', ''],
  'access-control-request-headers': ['authorization', '*'],
  'x-forwarded-for': ['1.2.3.4', '::1, x', ','],
  'content-type': ['application/json', 'text/plain', 'multipart/form-data', 'x', ''],
  'content-encoding': ['gzip', 'identity', 'x'],
  upgrade: ['h2c', 'x'],
  expect: ['100-continue', 'x'],
  host: ['', 'x', '[', 'a b', 'localhost:99999'],
  cookie: ['a=b', '=', '__proto__=1'],
  'transfer-encoding': ['chunked'],
  'x-http-method-override': ['DELETE'],
  'x-request-id': ['x'],
  authorization: ['Basic eDp5', 'Bearer', 'bearer x', ''],
};
/** Pieces of HTTP, put where they do not belong. */
const PIECES = [
  ' ',
  ':',
  '\r\n',
  '\n',
  '\r',
  '\0',
  '\t',
  '\r\n\r\n',
  '\r\n ',
  ' HTTP/1.0',
  ' HTTP/1.1\r\n',
  ' HTTP/2.0\r\n',
  'CONNECT x:1 ',
  'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  '\r\nhost: x',
  '\r\ncontent-length: 5',
  '\r\ncontent-length: -1',
  '\r\ncontent-length: 99999999999999999999',
  '\r\ntransfer-encoding: chunked',
  '\r\ntransfer-encoding: x',
  '\r\nconnection: upgrade\r\nupgrade: websocket',
  '\r\nsec-websocket-key: x',
  '\r\nexpect: x',
  '\r\n0\r\n\r\n',
  '\u00ff',
  'x'.repeat(20_000),
];

const anyText = fc.oneof(
  fc.constantFrom(...STRANGE_VALUES),
  fc.string({ unit: anyCharacter, maxLength: 40 }),
  fc.json({ maxDepth: 2 }),
);

function valueOf(schema: Schema, known: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const { pattern, enum: members, minimum = 0, maximum = 1_000_000_000 } = schema;
  const fitting =
    pattern !== undefined
      ? fc.stringMatching(new RegExp(pattern))
      : members !== undefined
        ? fc.constantFrom(...members)
        : schema.type === 'integer'
          ? fc.integer({ min: minimum, max: maximum }).map(String)
          : known;
  return fc.oneof(
    { weight: 4, arbitrary: fitting },
    { weight: 4, arbitrary: known },
    { weight: 2, arbitrary: anyText },
  );
}

/** In the request line: percent-encoded, or as far as a client lets it through. */
const written = (text: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc
    .tuple(text, fc.integer({ min: 0, max: 4 }))
    .map(([each, way]) => (way > 0 ? encodeURIComponent(each) : inRequestLine(each)));

function inRequestLine(text: string): string {
  return text.replaceAll(/[^\x21-\xff]/g, '%');
}

function targets({ paths, known }: Places): fc.Arbitrary<readonly [string, string]> {
  const names = fc.constantFrom(...known);
  const documented = Object.entries(paths).map(([template, item]) => {
    const operation = item.get ?? item.post;
    const parameters = operation?.parameters ?? [];
    const segments = template.split(/(\{\w+\})/).map((segment) => {
      const parameter = parameters.find(({ name }) => segment === `{${name}}`);
      if (parameter === undefined) return fc.constant(segment);
      return written(valueOf(parameter.schema, names));
    });
    const pairs = parameters
      .filter(({ in: place }) => place === 'query')
      .map(({ name, schema }) =>
        fc.tuple(fc.constant(name), written(valueOf(schema, names))).map((pair) => pair.join('=')),
      );
    const strange = written(anyText);
    const query = fc.array(
      fc.oneof(
        ...pairs.map((arbitrary) => ({ weight: 4, arbitrary })),
        { weight: 1, arbitrary: fc.tuple(strange, strange).map((pair) => pair.join('=')) },
        { weight: 1, arbitrary: strange },
      ),
      { maxLength: 4 },
    );
    const methods = [...(item.get ? ['GET'] : []), ...(item.post ? ['POST'] : [])];
    const method = fc.oneof(
      { weight: 9, arbitrary: fc.constantFrom(...methods) },
      { weight: 1, arbitrary: fc.constantFrom(...OTHER_METHODS) },
    );
    const target = fc
      .tuple(fc.tuple(...segments), query, fc.constantFrom('', '', '', '', '', '', '/', '//', '%'))
      .map(([path, [...parts], end]) => {
        const search = parts.join('&');
        return `${path.join('')}${end}${search === '' ? '' : `?${search}`}`;
      });
    return fc.tuple(method, target);
  });
  const anywhere = fc.tuple(
    fc.constantFrom('GET', ...OTHER_METHODS),
    fc.oneof(
      fc.constantFrom(...TARGETS),
      anyText.map((text) => `/${inRequestLine(text)}`),
    ),
  );
  return fc.oneof(...documented.map((arbitrary) => ({ weight: 3, arbitrary })), {
    weight: 4,
    arbitrary: anywhere,
  });
}

function headersOf({ authorizations }: Places): fc.Arbitrary<Readonly<Record<string, string>>> {
  const strange = fc
    .string({ unit: anyCharacter, maxLength: 60 })
    .map((text) => text.replaceAll(/[^\t\x20-\x7e\x80-\xff]/g, '?').trim());
  const header = fc.constantFrom(...Object.entries(HEADERS)).chain(([name, values]) =>
    fc.tuple(
      fc.constant(name),
      fc.oneof(
        { weight: 4, arbitrary: fc.constantFrom(...values) },
        // only these frame a body
        { weight: name === 'transfer-encoding' ? 0 : 1, arbitrary: strange },
      ),
    ),
  );
  const authorization = fc.constantFrom(...authorizations).map((value) => ['authorization', value]);
  return fc
    .tuple(fc.array(header, { maxLength: 3 }), fc.option(authorization, { freq: 8 }))
    .map(([others, own]) => Object.fromEntries(own === null ? others : [own, ...others]));
}

/** Requests, and now and then the bytes of one that hardly is one. */
export function requestsOf(places: Places): fc.Arbitrary<Sent | string> {
  return fc.oneof(
    { weight: 9, arbitrary: requests(places) },
    { weight: 1, arbitrary: rawRequests(places) },
  );
}

function requests(places: Places): fc.Arbitrary<Sent> {
  const body = fc.option(
    fc.oneof(anyText, fc.constant('x'.repeat(17_000)), fc.json({ maxDepth: 4 })),
    { freq: 1, nil: undefined },
  );
  return fc
    .tuple(targets(places), headersOf(places), body)
    .map(([[method, target], headers, text]) => ({
      method,
      target,
      headers,
      body: method === 'GET' || method === 'HEAD' ? undefined : text,
    }));
}

/** The bytes of requests, some of them changed, as latin1. */
function rawRequests(places: Places): fc.Arbitrary<string> {
  const piece = fc.oneof(fc.constantFrom(...PIECES), fc.string({ maxLength: 8 }));
  // any double between 0 and 1 would nearly always be almost 0
  const edit = fc.record({ at: fc.nat(1_000), cut: fc.nat(8), piece });
  return fc.tuple(requests(places), fc.array(edit, { maxLength: 3 })).map(([sent, edits]) => {
    const { method, target, headers, body = '' } = sent;
    const lines = [
      `${method} ${target} HTTP/1.1`,
      ...Object.entries({ host: 'x', connection: 'close', ...headers }).map((pair) =>
        pair.join(': '),
      ),
      ...(body === '' ? [] : [`content-length: ${Buffer.byteLength(body)}`]),
    ];
    return edits.reduce(
      (text, { at, cut, piece: put }) => {
        const from = Math.floor((at / 1_000) * text.length);
        return text.slice(0, from) + put + text.slice(from + cut);
      },
      `${lines.join('\r\n')}\r\n\r\n${Buffer.from(body).toString('latin1')}`,
    );
  });
}
