import { Validator } from '@seriousme/openapi-schema-validator';
import { describe, expect, test } from 'vitest';
import { EXPLORER_API } from '../../../schemas/explorer-api/document.ts';
import type { MediaType } from '../../../schemas/http-api/document.ts';
import type { Json } from '../../../schemas/http-api/answer.ts';
import { FUNCTION_CALL_TYPES } from '../../../schemas/function-call.ts';
import { documentRoutes } from '../../../services/runtime/http/document-routes.ts';
import { operationsRoutes } from '../../../services/ops/console/routes.ts';
import { depositRoutes } from '../../../services/deposit-gateway/routes.ts';
import { DEPOSIT_API } from '../../../schemas/deposit-api/document.ts';
import { OPERATIONS_API } from '../../../schemas/operations-api/document.ts';
import { TREASURY_API } from '../../../schemas/treasury-api/document.ts';
import { DEPOSITS, EXPLORER, OPERATIONS, responseOf, TREASURY } from '../../support/openapi.ts';

function examplesOf({ example, examples = {} }: MediaType): readonly Json[] {
  return [
    ...(example === undefined ? [] : [example]),
    ...Object.values(examples).map(({ value }) => value),
  ];
}

describe.each([
  ['explorer', EXPLORER_API, EXPLORER],
  ['deposits', DEPOSIT_API, DEPOSITS],
  ['operations', OPERATIONS_API, OPERATIONS],
  ['treasury', TREASURY_API, TREASURY],
] as const)('the document of the %s', (_, api, { misfit }) => {
  const operations = Object.entries(api.paths).flatMap(([path, { get, post }]) =>
    [get, post].flatMap((operation) => (operation ? [{ path, ...operation }] : [])),
  );

  test('is OpenAPI 3.1', async () => {
    const validator = new Validator();
    const result = await validator.validate(JSON.parse(JSON.stringify(api)));
    expect(result.errors ?? []).toEqual([]);
    expect([result.valid, validator.version]).toEqual([true, '3.1']);
  });

  test('refers to components that it has', () => {
    const text = JSON.stringify(api);
    const references = [...text.matchAll(/"\$ref":"#\/components\/(\w+)\/(\w+)"/g)];
    expect(references.length).toBe(text.split('"$ref"').length - 1);
    const known = new Map<string, object>(Object.entries(api.components));
    const missing = references.filter(
      ([, kind = '', name = '']) => !Object.hasOwn(known.get(kind) ?? {}, name),
    );
    expect(missing.map(([whole]) => whole)).toEqual([]);
  });

  test('has examples that match their schemas, one for every JSON answer', () => {
    const answers = [
      ...Object.values(api.components.responses),
      ...operations.flatMap(({ responses }) =>
        Object.values(responses).map((used) => responseOf(api, used)),
      ),
    ];
    for (const [media, body] of answers.flatMap(({ content }) => Object.entries(content))) {
      const examples = examplesOf(body);
      if (media === 'application/json' && body.schema.type !== 'object')
        expect(examples.length).toBeGreaterThan(0);
      for (const example of examples)
        expect([example, misfit(body.schema, example)]).toEqual([example, undefined]);
    }
    for (const { schema, example } of [
      ...Object.values(api.components.headers),
      ...operations.flatMap(({ parameters }) => parameters),
    ]) {
      if (example !== undefined)
        expect([example, misfit(schema, example)]).toEqual([example, undefined]);
    }
  });

  test('names each operation once, with a known tag, and each part of its path', () => {
    expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(operations.length);
    for (const { path, parameters, tags } of operations) {
      expect(api.tags.map(({ name }) => name)).toEqual(expect.arrayContaining([...tags]));
      const parts = parameters.filter((each) => each.in === 'path');
      const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      expect(parts.map(({ name }) => name)).toEqual(named);
      expect(parts.filter(({ example }) => example === undefined)).toEqual([]);
    }
  });
});

/** No request is made. */
const NOTHING = Object();

test.each([
  ['deposits', depositRoutes(NOTHING), DEPOSIT_API],
  ['operations', [...operationsRoutes(NOTHING), ...documentRoutes(OPERATIONS_API)], OPERATIONS_API],
] as const)('%s serve exactly the paths and methods of their document', (_, routes, api) => {
  const served = routes
    .filter(({ path }) => path !== '/' && !path.startsWith('/docs/'))
    .map(({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}`);
  const documented = Object.entries(api.paths).flatMap(([path, item]) =>
    Object.keys(item).map((method) => `${method} ${path}`),
  );
  expect(documented.toSorted()).toEqual([...served, 'get /health', 'get /ready'].toSorted());
});

test('deposits need a token under /api/ and answer 401 and 403 there; all else needs none', () => {
  for (const [path, { get, post }] of Object.entries(DEPOSIT_API.paths)) {
    for (const { security, responses } of [get, post].filter((each) => each !== undefined)) {
      const needsToken = path.startsWith('/api/');
      expect([path, security?.length !== 0]).toEqual([path, needsToken]);
      for (const status of ['401', '403'])
        expect([path, status, Object.hasOwn(responses, status)]).toEqual([
          path,
          status,
          needsToken,
        ]);
    }
  }
});

test('the explorer names the types of calls of the chain', () => {
  const { FunctionCallType: type } = EXPLORER_API.components.schemas;
  expect(new Set(type?.anyOf?.[0]?.enum)).toEqual(new Set(FUNCTION_CALL_TYPES));
});
