/** Rules for every container of Docker Compose. */
import { expect, test } from 'vitest';
import { developmentSecrets } from '../../../infra/compose/secrets.ts';
import { parseCompose, textOf, type Container } from '../../support/compose.ts';

/** The only ones that are root, without a network and for the rights that they need alone. */
const ROOT: Readonly<Record<string, readonly string[]>> = {
  'registry-volume': ['CHOWN'],
};
/** Containers that share the network of another one. */
const SHARING: Readonly<Record<string, string>> = { 'settle-kafka': 'service:kafka' };
/** Images of which Docker's record of official images names the digest. */
const RECORDED = /^(?:postgres|redis):/;
const OURS = 'clt-token-system';

const text = textOf('docker-compose.yml');
const file = parseCompose(text);
const containers: readonly (readonly [string, Container])[] = Object.entries(file.services);

test.each(containers)('confines %s', (name, container) => {
  expect(container).toMatchObject({
    read_only: true,
    cap_drop: ['ALL'],
    security_opt: ['no-new-privileges:true'],
  });
  expect(container.privileged).toBeUndefined();
  expect(container.cap_add).toEqual(ROOT[name]);
  if (name in ROOT) expect(container.network_mode).toBe('none');
  expect(container.user).toMatch(name in ROOT ? /^0:0$/ : /^[1-9]\d*:\d+$/);
  expect(container.pids_limit).toBeGreaterThan(0);
  expect(container.pids_limit).toBeLessThanOrEqual(1024);
  expect(container.mem_limit).toMatch(/^(?:\d+[mg]|\$\{APP_POSTGRES_MEMORY:-4g\})$/);
  expect(container.tmpfs.length).toBeGreaterThan(0);
});

test.each(containers)('pins the image of %s', (_name, { image, build }) => {
  expect(build === undefined).toBe(image !== OURS);
  if (image === OURS) return;
  expect(image).toMatch(/^[\w/-]+:v?\d+\.\d+(?:\.\d+(?:\.Final)?)?(?:@sha256:[0-9a-f]{64})?$/);
  expect(image.includes('@sha256:')).toBe(RECORDED.test(image));
});

test.each(containers)('puts %s into networks of the file, never the default one', (name, one) => {
  const { networks = [], network_mode } = one;
  expect(networks.length > 0).toBe(network_mode === undefined);
  if (network_mode !== undefined) expect(network_mode).toBe(SHARING[name] ?? 'none');
  expect(networks.filter((network) => !(network in file.networks))).toEqual([]);
});

test.each(containers)(
  'publishes ports of %s on 127.0.0.1 only, by an open network',
  (_name, one) => {
    const { ports = [], networks = [] } = one;
    for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/);
    const isOpen = networks.some((network) => file.networks[network]?.internal !== true);
    expect(ports.length === 0 || isOpen).toBe(true);
  },
);

test.each(containers)('gives %s its secrets in files', (_name, one) => {
  for (const [variable, value] of Object.entries(one.environment ?? {})) {
    expect(variable).not.toMatch(/(?:PASSWORD|SECRET|KEY|XPUB)$/);
    expect(value).not.toMatch(/:[^/@]+@/);
  }
  const named = Object.values(one.environment ?? {}).flatMap(
    (value) => /^\/run\/secrets\/(\w+)$/.exec(value)?.[1] ?? [],
  );
  expect((one.secrets ?? []).filter((name) => !(name in file.secrets))).toEqual([]);
  expect(named.filter((name) => one.secrets?.includes(name) !== true)).toEqual([]);
});

test('has no secret in its text', () => {
  // that of the superuser is the name of the server too
  const { postgres_superuser: _postgresSuperuser, ...secrets } = developmentSecrets;
  const logins = /^clt_(?:writer|reader|analyst)$/;
  for (const [name, secret] of Object.entries(secrets))
    if (secret !== '' && !logins.test(secret)) expect(text.includes(secret), name).toBe(false);
  expect(text).not.toMatch(/clt_(?:writer|reader|analyst):/);
});

test('has a folder for the secrets of an operator', () => {
  for (const [name, { file: place }] of Object.entries(file.secrets))
    expect(place).toBe(`\${APP_SECRETS_DIR:-./infra/compose/development}/${name}`);
});

test('keeps stores where nothing that is published can reach them', () => {
  const stores = /^(?:kafka|postgres|redis|sentinel|registry)(?:-\d)?$/;
  for (const [name, { networks = [], ports = [] }] of containers) {
    if (!stores.test(name)) continue;
    expect(ports, name).toEqual([]);
    for (const network of networks)
      expect(file.networks[network], `${name} ${network}`).toEqual({ internal: true });
  }
});
