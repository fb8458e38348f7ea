import { expect, test } from 'vitest';
import { documentRoutes, landingRoute } from '../../../../services/runtime/http/document-routes.ts';
import type { HttpRequest } from '../../../../services/runtime/http/handler.ts';

const DOCUMENT = { info: { title: 'A service', summary: 'Of a test' } };

test('a document or a file of the page is one answer, hashed and compressed once', async () => {
  const routes = documentRoutes(DOCUMENT);
  expect(routes.length).toBe(7);
  for (const { handle, path } of routes) {
    const request: HttpRequest = Object.assign(Object.create(null), { headers: {} });
    const answer = await handle(request);
    expect(answer).toMatchObject({ status: 200, route: path, is_public: true });
    expect(await handle(request)).toBe(answer);
  }
});

test('the page at / names what there is, and is JSON for those that accept JSON', async () => {
  const links = { '/graphql': 'the interface' };
  const { handle } = landingRoute({ title: 'A hub', summary: 'Sign-in', links });
  const ask = (accept?: string) => {
    const request: HttpRequest = Object.assign(Object.create(null), { headers: { accept } });
    return handle(request);
  };
  const page = await ask('text/html,*/*');
  expect(page).toMatchObject({
    status: 200,
    headers: { vary: 'accept', 'content-security-policy': expect.stringContaining("'none'") },
  });
  expect(String(Object(page).bytes)).toContain('<a href="/graphql">/graphql</a> the interface');
  const { bytes } = Object(await ask('application/json'));
  expect(JSON.parse(String(bytes))).toMatchObject({ title: 'A hub', summary: 'Sign-in', links });
});
