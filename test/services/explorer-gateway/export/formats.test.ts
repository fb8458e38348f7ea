import { expect, test } from 'vitest';
import { CSV, NDJSON } from '../../../../services/explorer-gateway/export/formats.ts';
import { readCsv } from '../../../projections/explorer/plain-exports.ts';

test('numbers keep their digits, null is empty and an empty text is not', () => {
  const item = `{"a":${10n ** 70n},"b":-5,"c":null,"d":"","e":true,"f":"x"}`;
  expect(CSV.row(item)).toBe(`${10n ** 70n},-5,,"",true,x\r\n`);
  expect(NDJSON.row(item)).toBe(`${item}\n`);
});

test('CSV begins with a line of names, NDJSON does not', () => {
  expect(CSV.opening('a,b_c')).toBe('a,b_c\r\n');
  expect(NDJSON.opening('a,b_c')).toBe('');
});

test.each(['=1+1', '+1+1', '-cmd', '@x', '\t=1', '\r=1', '\n=1', '＝1', '=a,b', '=HYPERLINK("x")'])(
  'the text %j is not computed by a spreadsheet',
  (text) => {
    expect(readCsv(CSV.row(JSON.stringify({ text })))).toEqual([[`'${text}`]]);
  },
);

test.each(['-1', '+1', '-1.000001', '-123456789012345678901234567890'])(
  'the number %j in a text stays a number',
  (text) => {
    expect(CSV.row(JSON.stringify({ text }))).toBe(`${text}\r\n`);
  },
);

test.each(['a,b', 'a;=1', 'a"b', 'a\r\nb', 'a\nb', 'a\tb'])(
  'the text %j is quoted and otherwise as it is',
  (text) => {
    const row = CSV.row(JSON.stringify({ text }));
    expect(row).toBe(`"${text.replaceAll('"', '""')}"\r\n`);
  },
);

test.each(['RidePay', "O'Type", 'a=b', 'ride pay', 'é', '😀', 'a\\b', '100%'])(
  'the text %j is not quoted',
  (text) => {
    expect(CSV.row(JSON.stringify({ text }))).toBe(`${text}\r\n`);
  },
);

test('texts that look like fields, and texts of any length, are read back as they were', () => {
  const texts = [
    '","b":"',
    '":',
    '{"a":1}',
    ',',
    '}',
    '\\',
    '\\"',
    '"\\',
    '\u0000',
    '\u2028',
    'null',
    'true',
    '7',
    'x"\\'.repeat(200_000),
  ];
  for (const text of texts) {
    const item = JSON.stringify({ before: 1, text, after: null });
    expect(readCsv(CSV.row(item))).toEqual([['1', text, '']]);
  }
});
