/** Each manifest of the chart by the API server that has to take it. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { manifests, type Manifest } from '../support/chart.ts';
import { until } from '../support/until.ts';
import { definitions, openApiServer, type ApiServer } from './api-server.ts';

const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

let server: ApiServer;
beforeAll(async () => {
  server = await openApiServer();
  for (const yaml of await definitions()) {
    const { name }: { readonly name: string } = Object(parse(yaml)).metadata;
    expect(await server.ask('POST', DEFINITIONS, yaml)).toMatchObject({ status: 201 });
    await until(
      async () => (await server.ask('GET', `${DEFINITIONS}/${name}`)).body,
      `${name} to be served`,
      (body) =>
        /"type":"Established","status":"True"|"status":"True"[^}]*"type":"Established"/.test(body),
    );
  }
});
afterAll(() => server.stop());

/** The plural by which the API server knows a kind. */
async function pathOf({ apiVersion, kind, metadata }: Manifest): Promise<string> {
  const group = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const { body } = await server.ask('GET', group);
  const { resources }: { readonly resources: readonly { name: string; kind: string }[] } =
    JSON.parse(body);
  const found = resources.find((each) => each.kind === kind && !each.name.includes('/'));
  return `${group}/namespaces/default/${found?.name}/${metadata.name}`;
}

/** A server-side apply that changes nothing; an unknown field is an error. */
async function dryRun(manifest: Manifest): Promise<{ status: number; body: string }> {
  const query = 'dryRun=All&fieldManager=test&fieldValidation=Strict&force=true';
  return await server.ask('PATCH', `${await pathOf(manifest)}?${query}`, JSON.stringify(manifest));
}

test.each(manifests.map((manifest) => [manifest.kind, manifest.metadata.name, manifest] as const))(
  'the API server takes the %s %s',
  async (_kind, _name, manifest) => {
    const { status, body } = await dryRun(manifest);
    expect(status, body).toBe(201);
  },
);

test.each(['Deployment', 'Kafka', 'KafkaTopic', 'KafkaUser', 'KafkaNodePool', 'Cluster'])(
  'it refuses a %s with a field that there is not',
  async (kind) => {
    const manifest = manifests.find((each) => each.kind === kind);
    if (manifest === undefined) throw new Error(`the chart has no ${kind}`);
    const { apiVersion, metadata, spec } = manifest;
    const wrong = { apiVersion, kind, metadata, spec: { ...spec, no_such_field: 1 } };
    expect((await dryRun(wrong)).status).toBeGreaterThanOrEqual(400);
  },
);
