import { buildClientSchema, buildSchema, getIntrospectionQuery, printSchema } from 'graphql';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { HubWorld } from '../../../services/hub-gateway/hub-world.ts';

let world: HubWorld;
beforeAll(async () => {
  world = await HubWorld.open(inject('stack'));
});
afterAll(() => world.close());

test('the schema is a file, held equal to the one that is served, and / links to it', async () => {
  const { text: sdl, headers } = await got('/schema.graphql');
  expect(headers.get('content-type')).toBe('text/plain; charset=utf-8');
  const answer = await fetch(`${world.url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query: getIntrospectionQuery() }),
  });
  const served = buildClientSchema(Object(await answer.json()).data);
  expect(printSchema(buildSchema(sdl))).toBe(printSchema(served));
  const again = { 'if-none-match': headers.get('etag') ?? '' };
  expect((await got('/schema.graphql', again)).status).toBe(304);
  const { text: page } = await got('/');
  for (const path of ['/graphql', '/schema.graphql', '/health'])
    expect(page).toContain(`href="${path}"`);
});

async function got(path: string, headers: Readonly<Record<string, string>> = {}) {
  const response = await fetch(world.url + path, { headers });
  return { status: response.status, headers: response.headers, text: await response.text() };
}
