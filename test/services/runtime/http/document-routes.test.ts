import { expect, test } from 'vitest';
import { documentRoutes } from '../../../../services/runtime/http/document-routes.ts';
import type { HttpRequest } from '../../../../services/runtime/http/handler.ts';

const DOCUMENT = new URL('../../../../schemas/explorer-api/openapi.yaml', import.meta.url);

test('all responses with a file of the page share its bytes', async () => {
  const routes = documentRoutes(DOCUMENT).filter(({ path }) => path.startsWith('/docs/swagger'));
  expect(routes.length).toBe(2);
  for (const { handle } of routes) {
    const request: HttpRequest = Object.create(null);
    const [first, second] = [await handle(request), await handle(request)];
    expect(first).toEqual({ ...first, status: 200, body: expect.any(Buffer) });
    expect('body' in first && 'body' in second && first.body === second.body).toBe(true);
  }
});
