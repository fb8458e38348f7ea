import { Validator } from '@seriousme/openapi-schema-validator';
import { expect, test } from 'vitest';
import { DEPOSIT_API } from '../../support/openapi.ts';
import { headerOf, responseOf, type Operation, type Response } from '../../support/openapi.ts';
import { depositRoutes } from '../../../services/deposit-gateway/routes.ts';
import { misfit } from '../../services/deposit-gateway/answer-check.ts';

const { components, paths, tags, security } = DEPOSIT_API;
const operations = Object.entries(paths).flatMap(([path, { get, post }]) =>
  Object.entries({ get, post }).flatMap(([method, operation]: [string, Operation | undefined]) =>
    operation === undefined ? [] : [Object.assign({ path, method }, operation)],
  ),
);
const responses: readonly Response[] = [
  ...Object.values(components.responses),
  ...operations.flatMap((operation) =>
    Object.values(operation.responses).map((used) => responseOf(DEPOSIT_API, used)),
  ),
];

test('it is OpenAPI 3.1', async () => {
  const validator = new Validator();
  const result = await validator.validate(JSON.parse(JSON.stringify(DEPOSIT_API)));
  expect(result.errors ?? []).toEqual([]);
  expect([result.valid, validator.version]).toEqual([true, '3.1']);
});

test('it names exactly the paths and methods that are served', () => {
  const routes = depositRoutes({
    reader: { rows: () => Promise.resolve([]) },
    callers: { of: () => Buffer.alloc(20) },
    addresses: { open: () => Promise.resolve(undefined) },
    now: () => 0,
  });
  const served = routes
    .filter(({ path }) => path !== '/' && !path.startsWith('/docs/'))
    .map(({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}`);
  const documented = operations.map(({ method, path }) => `${method} ${path}`);
  expect(documented.toSorted()).toEqual([...served, 'get /health', 'get /ready'].toSorted());
});

test('every reference resolves, and every component is referenced', () => {
  const text = JSON.stringify(DEPOSIT_API);
  const references = new Set(
    [...text.matchAll(/"\$ref":"#\/components\/(\w+)\/(\w+)"/g)].map(
      ([, kind, name]) => `${kind} ${name}`,
    ),
  );
  const there = Object.entries(components)
    .filter(([kind]) => kind !== 'securitySchemes')
    .flatMap(([kind, all]) => Object.keys(all).map((name) => `${kind} ${name}`));
  expect([...references].filter((each) => !there.includes(each))).toEqual([]);
  // the response of any path to another method
  expect(there.filter((each) => !references.has(each))).toEqual(['responses MethodNotAllowed']);
  expect(security.flatMap((each) => Object.keys(each))).toEqual(
    Object.keys(components.securitySchemes ?? {}),
  );
});

test('every example matches its schema', () => {
  let examples = 0;
  for (const { content } of responses) {
    for (const { schema, example } of Object.values(content)) {
      if (example === undefined) continue;
      expect({ example, misfit: misfit(schema, example) }).toEqual({ example, misfit: undefined });
      examples++;
    }
  }
  expect(examples).toBeGreaterThan(operations.length);
  for (const { schema, example } of Object.values(components.headers))
    expect([example, misfit(schema, example)]).toEqual([example, undefined]);
});

test('every operation has a unique name, a known tag, and a parameter for each placeholder in its path', () => {
  expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(operations.length);
  for (const { path, parameters, tags: own } of operations) {
    expect(tags.map(({ name }) => name)).toEqual(expect.arrayContaining([...own]));
    expect(parameters.map(({ name }) => name)).toEqual(
      [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name),
    );
  }
});

test('operations under /api/ need a token and document 401; all others need none, and all document 429', () => {
  for (const operation of operations) {
    const isOpen = !operation.path.startsWith('/api/');
    expect([operation.path, operation.security?.length === 0]).toEqual([operation.path, isOpen]);
    const statuses = Object.keys(operation.responses);
    for (const status of ['401', '403'])
      expect([operation.path, status, statuses.includes(status)]).toEqual([
        operation.path,
        status,
        !isOpen,
      ]);
    expect(statuses).toContain('429');
    for (const used of Object.values(operation.responses)) {
      const { headers = {} } = responseOf(DEPOSIT_API, used);
      expect(Object.keys(headers)).toContain('x-request-id');
      for (const each of Object.values(headers))
        expect(headerOf(DEPOSIT_API, each).description).not.toBe('');
    }
  }
});
