import { expect, test } from 'vitest';
import { documentRoutes, landingRoute } from '../../../../services/runtime/http/document-routes.ts';
import type { HttpRequest } from '../../../../services/runtime/http/handler.ts';

const DOCUMENT = { info: { title: 'A service', summary: 'Of a test' } };

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

test('the page at / names what there is, and is JSON for those that accept JSON', async () => {
  const links = { '/graphql': 'the interface' };
  const { handle } = landingRoute({ title: 'A hub', summary: 'Sign-in', links });
  const ask = (accept?: string) => {
    const request: HttpRequest = Object.assign(Object.create(null), { headers: { accept } });
    return handle(request);
  };
  expect(await ask('text/html,*/*')).toMatchObject({
    status: 200,
    body: expect.stringContaining('<a href="/graphql">/graphql</a> the interface'),
    headers: { vary: 'accept', 'content-security-policy': expect.stringContaining("'none'") },
  });
  const { body } = Object(await ask('application/json'));
  expect(JSON.parse(String(body))).toMatchObject({ title: 'A hub', summary: 'Sign-in', links });
});
