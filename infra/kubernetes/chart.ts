/**
 * The templates of the Helm chart, made from the tables of services, topics and rights:
 * `infra/node.sh infra/kubernetes/chart.ts` writes them into `templates`, which the repository does
 * not keep. A value of `values.yaml` is the only thing that Helm puts in.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { stringify } from 'yaml';
import { aclsOf, RIGHTS } from '../kafka/acls.ts';
import { kafkaSettings, kafka_version } from '../kafka/settings.ts';
import { newTopics } from '../kafka/topics.ts';
import { database, reader, writer } from '../postgres/settings.ts';
import { defaultPorts } from '../services/ports.ts';
import { services, type ServiceSpec } from '../services/services.ts';
import { defaultSettings } from '../services/settings.ts';
import { CONFINED, CONFINED_POD, PART, value, type Manifest } from './manifest.ts';
import { postgres, POSTGRES } from './postgres.ts';

const KAFKA = 'clt-kafka';
/** A label of the pods that may read `/metrics`. */
const SCRAPER = 'clt/scrapes-metrics';
const SECRETS = new Set<string>(['APP_JWT_SECRET', 'APP_MINT_KEY']);
const COMMON = ['APP_NETWORK', 'APP_CHAIN_ID', 'APP_LOG_LEVEL', 'APP_DRAIN_MS'];
const OPTIONAL = ['APP_ALLOWED_ACCOUNTS'];

/** A value that Helm puts in, without quotes. */
function number(path: string): string {
  return `{{ .Values.${path} | int }}`;
}
function needed(path: string): string {
  return `{{ .Values.${path} | required "set ${path}" | quote }}`;
}

function kafka(): Manifest[] {
  const labels = { 'strimzi.io/cluster': KAFKA };
  const version = 'kafka.strimzi.io/v1';
  // Strimzi sets those of brokers itself
  const settings = Object.entries(kafkaSettings).filter(
    ([name]) => !/^broker\.|replication|min\.isr|num\.partitions/.test(name),
  );
  const apart = {
    maxSkew: 1,
    topologyKey: 'kubernetes.io/hostname',
    whenUnsatisfiable: 'DoNotSchedule',
    labelSelector: { matchLabels: labels },
  };
  const replicated = {
    'default.replication.factor': 3,
    'min.insync.replicas': 2,
    'offsets.topic.replication.factor': 3,
    'transaction.state.log.replication.factor': 3,
    'transaction.state.log.min.isr': 2,
    'share.coordinator.state.topic.replication.factor': 3,
    'share.coordinator.state.topic.min.isr': 2,
    'unclean.leader.election.enable': false,
  };
  return [
    {
      apiVersion: version,
      kind: 'KafkaNodePool',
      metadata: { name: 'nodes', labels },
      spec: {
        replicas: 3,
        roles: ['controller', 'broker'],
        storage: { type: 'persistent-claim', size: value('kafka.storage'), deleteClaim: false },
        resources: { limits: { memory: value('kafka.memory') } },
        template: { pod: { topologySpreadConstraints: [apart] } },
      },
    },
    {
      apiVersion: version,
      kind: 'Kafka',
      metadata: { name: KAFKA },
      spec: {
        kafka: {
          version: kafka_version,
          listeners: [
            {
              name: 'tls',
              port: 9093,
              type: 'internal',
              tls: true,
              authentication: { type: 'scram-sha-512' },
            },
          ],
          authorization: { type: 'simple' },
          config: { ...Object.fromEntries(settings), ...replicated },
        },
        entityOperator: { topicOperator: {}, userOperator: {} },
      },
    },
    ...newTopics({ prefix: '', replicas: 3 }).map(({ name, partitions, config }) => ({
      apiVersion: version,
      kind: 'KafkaTopic',
      metadata: { name, labels },
      spec: { partitions, replicas: 3, config },
    })),
    ...RIGHTS.map((rights) => ({
      apiVersion: version,
      kind: 'KafkaUser',
      metadata: { name: rights.principal, labels },
      spec: {
        authentication: { type: 'scram-sha-512' },
        authorization: {
          type: 'simple',
          acls: aclsOf(rights).map(({ resource, name, is_prefix: isPrefix, operations }) => ({
            resource: { type: resource, name, patternType: isPrefix ? 'prefix' : 'literal' },
            operations,
          })),
        },
      },
    })),
  ];
}

/** A variable from a key of a secret. */
function fromSecret(name: string, secret: string, key: string, optional = false): Manifest {
  const ref = { name: secret, key, ...(optional ? { optional } : {}) };
  return { name, valueFrom: { secretKeyRef: ref } };
}

/** Services of Postgres: `rw` is the primary, `ro` the replica; the first that answers is used. */
function postgresOf(
  role: typeof writer | typeof reader,
  ...postgres_services: readonly ('rw' | 'ro')[]
): string {
  const hosts = postgres_services.map((service) => `${POSTGRES}-${service}:5432`).join(',');
  return (
    `postgres://${role.name}:$(POSTGRES_PASSWORD)@${hosts}/${database}` +
    '?sslmode=verify-full&sslrootcert=/certificates/postgres/ca.crt'
  );
}

function environment(spec: ServiceSpec): Manifest[] {
  const port = spec.ports[0];
  const isWriter = RIGHTS.some((each) => each.principal === spec.name && each.appends.length > 0);
  const account = isWriter ? 'writer' : 'reader';
  const registry = value('secrets.registry');
  const variables = spec.variables.flatMap((name: string): Manifest[] => {
    switch (name) {
      case 'APP_KAFKA_BROKERS':
        return [
          { name, value: `${KAFKA}-kafka-bootstrap:9093` },
          { name: 'APP_KAFKA_TLS_CA', value: '/certificates/kafka/ca.crt' },
          { name: 'APP_KAFKA_SASL', value: 'scram-sha-512' },
          { name: 'APP_KAFKA_USERNAME', value: spec.name },
          fromSecret('APP_KAFKA_PASSWORD', spec.name, 'password'),
          { name: 'APP_KAFKA_REPLICATION_MIN', value: '3' },
        ];
      case 'APP_REGISTRY_URL':
        return [
          fromSecret(name, registry, 'url'),
          fromSecret('APP_REGISTRY_USERNAME', registry, `${account}-username`),
          fromSecret('APP_REGISTRY_PASSWORD', registry, `${account}-password`),
        ];
      case 'APP_POSTGRES_URL':
        return [
          fromSecret('POSTGRES_PASSWORD', value('secrets.postgresWriter'), 'password'),
          { name, value: postgresOf(writer, 'rw', 'ro') },
        ];
      case 'APP_POSTGRES_READER_URL':
        return [
          fromSecret('POSTGRES_PASSWORD', value('secrets.postgresReader'), 'password'),
          { name, value: postgresOf(reader, 'ro', 'rw') },
        ];
      case 'APP_REDIS_URL':
        return [
          fromSecret(name, value('secrets.redis'), 'url'),
          { name: 'APP_REDIS_SENTINELS', value: value('redis.sentinels') },
          { name: 'APP_REDIS_SENTINEL_NAME', value: value('redis.name') },
          fromSecret(
            'APP_REDIS_SENTINEL_PASSWORD',
            value('secrets.redis'),
            'sentinel-password',
            true,
          ),
        ];
      case 'APP_TREASURY_PUBLIC_RECONCILIATION_URL':
        return [{ name, value: `http://treasury:${defaultPorts.treasury}/public/reconciliation` }];
      case 'APP_TREASURY_ARRIVALS_URL':
        return [{ name, value: `http://treasury:${defaultPorts.treasury}/arrivals` }];
      case 'APP_CONSOLE_URL':
      case 'APP_CONSOLE_HUB_URL':
      case 'APP_CONSOLE_DEPOSITS_URL':
        return [{ name, value: value(`settings.${name}`) }];
      default:
        if (SECRETS.has(name)) return [fromSecret(name, value('secrets.settings'), name)];
        return [{ name, value: needed(`settings.${name}`) }];
    }
  });
  const common = COMMON.map((name) => ({ name, value: needed(`settings.${name}`) }));
  const own = OPTIONAL.filter((name) => name in spec.defaults).map((name) => ({
    name,
    value: value(`settings.${name}`),
  }));
  const { NODE_OPTIONS: options } = spec.defaults;
  return [
    ...common,
    { name: 'APP_HTTP_HOST', value: '0.0.0.0' },
    { name: 'APP_HTTP_PORT', value: String(defaultPorts[port]) },
    ...(spec.ops_port === port
      ? []
      : [{ name: 'APP_OPS_PORT', value: String(defaultPorts[spec.ops_port]) }]),
    ...(options === undefined ? [] : [{ name: 'NODE_OPTIONS', value: options }]),
    // else all clients behind an ingress are one
    ...(isGateway(spec)
      ? [{ name: 'APP_TRUST_PROXY', value: needed('settings.APP_TRUST_PROXY') }]
      : []),
    ...own,
    ...variables,
  ];
}

function isGateway({ name }: ServiceSpec): boolean {
  return name.endsWith('-gateway');
}

function probe(path: string): Manifest {
  return { httpGet: { path, port: 'http' }, timeoutSeconds: 5 };
}

function manifestsOf(spec: ServiceSpec): Manifest[] {
  const { name, entry, args, variables } = spec;
  const port = defaultPorts[spec.ports[0]];
  const opsPort = defaultPorts[spec.ops_port];
  const labels = { [PART]: name };
  const metadata = { name, labels };
  const selector = { matchLabels: labels };
  const authorities = [
    ...(variables.includes('APP_KAFKA_BROKERS') ? [['kafka', `${KAFKA}-cluster-ca-cert`]] : []),
    ...(variables.some((each) => each.startsWith('APP_POSTGRES'))
      ? [['postgres', `${POSTGRES}-ca`]]
      : []),
  ];
  const container = {
    name,
    image: value('image'),
    args: [entry, ...args],
    ports: [
      { name: 'http', containerPort: port },
      ...(opsPort === port ? [] : [{ name: 'ops', containerPort: opsPort }]),
    ],
    env: environment(spec),
    // any other setting
    envFrom: [
      { configMapRef: { name: value('more.settings'), optional: true } },
      { secretRef: { name: value('more.secrets'), optional: true } },
    ],
    // a projector that loads its tables is alive for hours before it is ready
    livenessProbe: { ...probe('/health'), initialDelaySeconds: 30, failureThreshold: 6 },
    readinessProbe: probe('/ready'),
    resources: {
      requests: { cpu: value('services.cpu'), memory: value('services.memory') },
      limits: { memory: value('services.memory') },
    },
    securityContext: CONFINED,
    volumeMounts: [...authorities.map(([of]) => of), 'more'].map((of) => ({
      name: of,
      mountPath: `/certificates/${of}`,
    })),
  };
  const deployment = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata,
    spec: {
      // the autoscaler decides it for a gateway
      ...(isGateway(spec) ? {} : { replicas: number('services.replicas') }),
      selector,
      template: {
        metadata: { labels },
        spec: {
          automountServiceAccountToken: false,
          terminationGracePeriodSeconds: 30,
          securityContext: CONFINED_POD,
          topologySpreadConstraints: [
            {
              maxSkew: 1,
              topologyKey: 'kubernetes.io/hostname',
              whenUnsatisfiable: 'ScheduleAnyway',
              labelSelector: selector,
            },
          ],
          containers: [container],
          volumes: [
            ...authorities.map(([of, secretName]) => ({
              name: of,
              secret: { secretName, items: [{ key: 'ca.crt', path: 'ca.crt' }] },
            })),
            { name: 'more', secret: { secretName: value('more.certificates'), optional: true } },
          ],
        },
      },
    },
  };
  const scaler = {
    apiVersion: 'autoscaling/v2',
    kind: 'HorizontalPodAutoscaler',
    metadata,
    spec: {
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name },
      minReplicas: number('gateways.replicasMin'),
      maxReplicas: number('gateways.replicasMax'),
      metrics: [
        {
          type: 'Resource',
          resource: {
            name: 'cpu',
            target: { type: 'Utilization', averageUtilization: number('gateways.cpuPercent') },
          },
        },
      ],
    },
  };
  // A gateway is for everybody; the treasury's newest run is for the explorer's gateway, and its
  // arrivals are for the watcher.
  const reached = isGateway(spec)
    ? [{ ports: [{ port: 'http' }] }]
    : name === 'treasury'
      ? [
          {
            from: ['explorer-gateway', 'tron-watcher'].map((each) => ({
              podSelector: { matchLabels: { [PART]: each } },
            })),
            ports: [{ port: 'http' }],
          },
        ]
      : [];
  const scraped = {
    from: [{ namespaceSelector: {}, podSelector: { matchLabels: { [SCRAPER]: 'true' } } }],
    ports: [{ port: opsPort === port ? 'http' : 'ops' }],
  };
  return [
    deployment,
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata,
      spec: { selector: labels, ports: [{ name: 'http', port, targetPort: 'http' }] },
    },
    {
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata,
      spec: { minAvailable: 1, selector },
    },
    {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'NetworkPolicy',
      metadata,
      spec: { podSelector: selector, policyTypes: ['Ingress'], ingress: [...reached, scraped] },
    },
    ...(isGateway(spec) ? [scaler] : []),
  ];
}

/** The templates by file name. A development chain is no part of the chart. */
export function chartTemplates(): Readonly<Record<string, readonly Manifest[]>> {
  const ours = services.filter(({ name }) => name !== 'devnet');
  return {
    'kafka.yaml': kafka(),
    'postgres.yaml': postgres(),
    ...Object.fromEntries(ours.map((spec) => [`${spec.name}.yaml`, manifestsOf(spec)])),
  };
}

/** The settings that values.yaml has to name. */
export const chart_settings: readonly string[] = [
  ...new Set([
    ...COMMON,
    ...OPTIONAL,
    ...services
      .filter(({ name }) => name !== 'devnet')
      .flatMap(({ variables }) => variables.map(String))
      .filter(
        (name) =>
          (name in defaultSettings || name.startsWith('APP_CONSOLE_')) && !SECRETS.has(name),
      ),
    'APP_NODE_URL',
    'APP_TRON_URL',
    'APP_TRUST_PROXY',
  ]),
];

/** YAML in which Helm's placeholders stand without quotes of their own. */
export function templateText(manifests: readonly Manifest[]): string {
  const options = { version: '1.1', aliasDuplicateObjects: false, lineWidth: 0 } as const;
  return manifests
    .map((manifest) => stringify(manifest, options))
    .join('---\n')
    .replaceAll(/'(\{\{ [^']* \}\})'|"(\{\{ (?:[^"\\]|\\")* \}\})"/g, (_, single, double) =>
      String(single ?? double).replaceAll('\\"', '"'),
    );
}

/** Writes the templates into a folder, without those of a version before. */
export function writeTemplates(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  for (const [name, manifests] of Object.entries(chartTemplates()))
    writeFileSync(join(folder, name), templateText(manifests));
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href)
  writeTemplates(join(import.meta.dirname, 'templates'));
