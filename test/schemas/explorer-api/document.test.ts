import { Validator } from '@seriousme/openapi-schema-validator';
import { expect, test } from 'vitest';
import { LIMIT_MAX } from '../../../schemas/explorer-api/bounds.ts';
import { FUNCTION_CALL_TYPES } from '../../../schemas/function-call.ts';
import { EXPLORER_API } from '../../support/openapi.ts';
import {
  headerOf,
  responseOf,
  type Json,
  type MediaType,
  type Response,
} from '../../support/openapi.ts';
import { misfit } from '../../services/explorer-gateway/answer-check.ts';

const { components, paths, tags } = EXPLORER_API;
const operations = Object.entries(paths).map(([path, { get }]) => Object.assign({ path }, get));
const responses: readonly Response[] = [
  ...Object.values(components.responses),
  ...operations.flatMap((operation) =>
    Object.values(operation.responses).map((used) => responseOf(EXPLORER_API, used)),
  ),
];

function examplesOf({ example, examples = {} }: MediaType): readonly Json[] {
  return [
    ...(example === undefined ? [] : [example]),
    ...Object.values(examples).map(({ value }) => value),
  ];
}

test('it is OpenAPI 3.1', async () => {
  const validator = new Validator();
  const result = await validator.validate(JSON.parse(JSON.stringify(EXPLORER_API)));
  expect(result.errors ?? []).toEqual([]);
  expect([result.valid, validator.version]).toEqual([true, '3.1']);
});

test('every reference resolves', () => {
  const text = JSON.stringify(EXPLORER_API);
  const references = [...text.matchAll(/"\$ref":"#\/components\/(\w+)\/(\w+)"/g)];
  expect(references.length).toBe(text.split('"$ref"').length - 1);
  const known = new Map<string, object>(Object.entries(components));
  const missing = references.filter(
    ([, kind = '', name = '']) => !Object.hasOwn(known.get(kind) ?? {}, name),
  );
  expect(missing.map(([whole]) => whole)).toEqual([]);
});

test('every example matches its schema, and every JSON answer has one', () => {
  let examples = 0;
  for (const { content } of responses) {
    for (const [media, body] of Object.entries(content)) {
      if (media === 'application/json' && body.schema.type !== 'object')
        expect(examplesOf(body).length).toBeGreaterThan(0);
      for (const example of examplesOf(body)) {
        expect({ example, misfit: misfit(body.schema, example) }).toEqual({
          example,
          misfit: undefined,
        });
        examples++;
      }
    }
  }
  expect(examples).toBeGreaterThan(operations.length);
  for (const { schema, example } of Object.values(components.headers))
    expect([example, misfit(schema, example)]).toEqual([example, undefined]);
  for (const { schema, example } of operations.flatMap(({ parameters }) => parameters)) {
    if (example !== undefined)
      expect([example, misfit(schema, example)]).toEqual([example, undefined]);
  }
});

test('every operation has a unique name, a known tag, and a parameter for each placeholder in its path', () => {
  expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(operations.length);
  for (const { path, parameters, tags: own } of operations) {
    expect(tags.map(({ name }) => name)).toEqual(expect.arrayContaining([...own]));
    const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    expect(parameters.filter((each) => each.in === 'path').map(({ name }) => name)).toEqual(named);
    expect(parameters.filter((each) => each.in === 'path' && each.example === undefined)).toEqual(
      [],
    );
  }
});

test('every list has its limit, offset and cursor within their bounds, and a Link header', () => {
  const lists = operations.filter(({ operationId }) => operationId.startsWith('list'));
  expect(lists.length).toBeGreaterThan(1);
  for (const { parameters, responses: own } of lists) {
    const limit = parameters.find(({ name }) => name === 'limit');
    expect(limit?.schema).toEqual({ type: 'integer', minimum: 1, maximum: LIMIT_MAX, default: 20 });
    expect(parameters.find(({ name }) => name === 'offset')?.schema).toEqual({
      type: 'integer',
      minimum: 0,
      default: 0,
    });
    expect(parameters.find(({ name }) => name === 'cursor')?.required).toBe(false);
    const success = own['200'];
    expect(success && Object.keys(responseOf(EXPLORER_API, success).headers ?? {})).toContain(
      'link',
    );
  }
});

test('every path under /api documents 400, 413, 429 and 500, with a description of each header', () => {
  for (const { path, responses: own } of operations.filter((each) =>
    each.path.startsWith('/api/'),
  )) {
    expect({ path, statuses: Object.keys(own) }).toEqual({
      path,
      statuses: expect.arrayContaining(['200', '400', '413', '429', '500']),
    });
    for (const used of Object.values(own)) {
      const { headers = {} } = responseOf(EXPLORER_API, used);
      expect(Object.keys(headers)).toContain('x-request-id');
      for (const each of Object.values(headers))
        expect(headerOf(EXPLORER_API, each).description).not.toBe('');
    }
  }
});

test('it has the types of calls of the chain', () => {
  const { FunctionCallType: type } = components.schemas;
  expect(new Set(type?.anyOf?.[0]?.enum)).toEqual(new Set(FUNCTION_CALL_TYPES));
});
