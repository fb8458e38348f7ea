import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Deployment } from 'kubernetes-models/apps/v1/Deployment';
import { HorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v2/HorizontalPodAutoscaler';
import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1/NetworkPolicy';
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1/PodDisruptionBudget';
import { Job } from 'kubernetes-models/batch/v1/Job';
import { Service } from 'kubernetes-models/v1/Service';
import { expect, onTestFinished, test } from 'vitest';
import { aclsOf, RIGHTS } from '../../../infra/kafka/acls.ts';
import { newTopics } from '../../../infra/kafka/topics.ts';
import { chart_settings, writeTemplates } from '../../../infra/kubernetes/chart.ts';
import { services } from '../../../infra/services/services.ts';
import { manifests, rendered, templates, values, type Manifest } from '../../support/chart.ts';

const FOLDER = new URL('../../../infra/kubernetes/', import.meta.url);
/** Throw where a manifest is not as its kind has to be. */
const MODELS: readonly (readonly [string, (json: string) => void])[] = [
  ['Deployment', (json) => new Deployment(JSON.parse(json)).validate()],
  ['HorizontalPodAutoscaler', (json) => new HorizontalPodAutoscaler(JSON.parse(json)).validate()],
  ['Job', (json) => new Job(JSON.parse(json)).validate()],
  ['NetworkPolicy', (json) => new NetworkPolicy(JSON.parse(json)).validate()],
  ['PodDisruptionBudget', (json) => new PodDisruptionBudget(JSON.parse(json)).validate()],
  ['Service', (json) => new Service(JSON.parse(json)).validate()],
];

const ours = services.filter(({ name }) => name !== 'devnet');

function named(kind: string): readonly Manifest[] {
  return manifests.filter((each) => each.kind === kind);
}

test('the chart is written with its templates alone: those of a version before go', () => {
  const folder = mkdtempSync(join(tmpdir(), 'clt-test-chart-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'a-service-that-was.yaml'), '');
  writeTemplates(folder);
  const written = readdirSync(folder).map((name) => [
    name,
    readFileSync(join(folder, name), 'utf8'),
  ]);
  expect(Object.fromEntries(written)).toEqual(Object.fromEntries(templates));
});

test('every placeholder is a value of values.yaml, which has no other setting', () => {
  expect(rendered(templates.map(([, text]) => text).join(''))).not.toContain('{{');
  expect(Object.keys(Reflect.get(values, 'settings')).toSorted()).toEqual(
    chart_settings.toSorted(),
  );
});

test.each(MODELS)('every %s is valid by the schema of Kubernetes', (kind, validate) => {
  const found = named(kind);
  expect(found.length).toBeGreaterThan(0);
  for (const manifest of found)
    expect(() => validate(JSON.stringify(manifest)), manifest.metadata.name).not.toThrow();
  const broken = JSON.stringify({ ...found[0], spec: 7 });
  expect(() => validate(broken)).toThrow();
});

test('every service has a deployment with probes, a disruption budget and a network policy', () => {
  for (const kind of ['Deployment', 'Service', 'PodDisruptionBudget', 'NetworkPolicy'])
    expect(named(kind).map(({ metadata }) => metadata.name)).toEqual(ours.map(({ name }) => name));
  const gateways = ours.filter(({ name }) => name.endsWith('-gateway'));
  expect(named('HorizontalPodAutoscaler').map(({ metadata }) => metadata.name)).toEqual(
    gateways.map(({ name }) => name),
  );
  for (const { metadata, spec } of named('Deployment')) {
    const text = JSON.stringify(spec);
    expect(text, metadata.name).toContain('"path":"/ready"');
    expect(text, metadata.name).toContain('"path":"/health"');
    expect(text, metadata.name).toContain('"runAsNonRoot":true');
  }
});

test('every variable of a service is set, a secret by reference alone', () => {
  for (const spec of ours) {
    const deployment = named('Deployment').find(({ metadata }) => metadata.name === spec.name);
    const { template } = Object(deployment?.spec);
    const env: { name: string; value?: string }[] = template.spec.containers[0].env;
    const names = env.map(({ name }) => name);
    expect(names, spec.name).toEqual(expect.arrayContaining([...spec.variables]));
    expect(new Set(names).size, spec.name).toBe(names.length);
    for (const { name, value } of env)
      if (/PASSWORD|SECRET|MINT_KEY|REDIS_URL/.test(name)) expect(value, name).toBeUndefined();
  }
});

test('a gateway is told how many proxies stand before it, and any other setting may come from outside', () => {
  for (const { metadata, spec } of named('Deployment')) {
    const [{ env, envFrom }] = Object(spec['template']).spec.containers;
    const names: unknown[] = env.map(({ name }: { name: string }) => name);
    expect(names.includes('APP_TRUST_PROXY')).toBe(metadata.name.endsWith('-gateway'));
    expect(envFrom).toEqual([
      { configMapRef: { name: 'clt-more', optional: true } },
      { secretRef: { name: 'clt-more', optional: true } },
    ]);
  }
});

test('the operator gives gateways as many connections as roles.sql', () => {
  const [cluster] = named('Cluster');
  const [{ name, connectionLimit }] = Object(cluster?.spec['managed']).roles;
  const roles = readFileSync(new URL('../postgres/roles.sql', FOLDER), 'utf8');
  expect(roles).toContain(`ALTER ROLE ${name} CONNECTION LIMIT ${connectionLimit};`);
});

test('Kafka has no setting that Strimzi drops', () => {
  const [kafka] = named('Kafka');
  const { config } = Object(kafka?.spec['kafka']);
  expect(Object.keys(config).filter((name) => name.startsWith('broker.'))).toEqual([]);
});

test('Strimzi makes every topic with three replicas, and every principal with its rights alone', () => {
  expect(named('KafkaTopic')).toMatchObject(
    newTopics({ prefix: '', replicas: 3 }).map(({ name, partitions, config }) => ({
      metadata: { name },
      spec: { partitions, replicas: 3, config },
    })),
  );
  expect(named('KafkaUser')).toMatchObject(
    RIGHTS.map((rights) => ({
      metadata: { name: rights.principal },
      spec: {
        authorization: {
          acls: aclsOf(rights).map(({ resource, name, operations }) => ({
            resource: { type: resource, name },
            operations,
          })),
        },
      },
    })),
  );
});
