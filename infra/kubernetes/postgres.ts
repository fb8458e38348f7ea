/** Postgres by CloudNativePG, and the job that settles its roles. */
import {
  database,
  postgresSettings,
  postgres_version,
  reader,
  writer,
} from '../postgres/settings.ts';
import { CONFINED, CONFINED_POD, PART, value, type Manifest } from './manifest.ts';

export const POSTGRES = 'clt-postgres';

export function postgres(): Manifest[] {
  const cluster = {
    apiVersion: 'postgresql.cnpg.io/v1',
    kind: 'Cluster',
    metadata: { name: POSTGRES },
    spec: {
      imageName: `ghcr.io/cloudnative-pg/postgresql:${postgres_version}`,
      instances: 2,
      bootstrap: {
        initdb: {
          database,
          owner: writer.name,
          secret: { name: value('secrets.postgresWriter') },
          encoding: 'UTF8',
          localeCollate: 'C',
          localeCType: 'C',
        },
      },
      // for settle-postgres
      enableSuperuserAccess: true,
      managed: {
        roles: [
          {
            name: reader.name,
            ensure: 'present',
            login: true,
            // as in roles.sql: the operator would take it away
            connectionLimit: 160,
            passwordSecret: { name: value('secrets.postgresReader') },
          },
        ],
      },
      postgresql: {
        parameters: {
          shared_buffers: value('postgres.sharedBuffers'),
          max_connections: postgresSettings['max_connections'],
          max_locks_per_transaction: postgresSettings['max_locks_per_transaction'],
          max_notify_queue_pages: postgresSettings['max_notify_queue_pages'],
          max_wal_size: '16GB',
          hot_standby_feedback: 'on',
          jit: 'off',
          timezone: 'UTC',
        },
      },
      storage: { size: value('postgres.storage') },
      resources: { limits: { memory: value('postgres.memory') } },
    },
  };
  const name = 'settle-postgres';
  const settle = {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: {
      name,
      annotations: {
        'helm.sh/hook': 'post-install,post-upgrade',
        'helm.sh/hook-delete-policy': 'before-hook-creation',
      },
    },
    spec: {
      // until Postgres answers
      backoffLimit: 60,
      template: {
        metadata: { labels: { [PART]: name } },
        spec: {
          automountServiceAccountToken: false,
          securityContext: CONFINED_POD,
          restartPolicy: 'OnFailure',
          containers: [
            {
              name,
              image: value('image'),
              args: ['infra/postgres/settle.ts', '/secrets', `${POSTGRES}-rw:5432`],
              securityContext: CONFINED,
              volumeMounts: [{ name: 'secrets', mountPath: '/secrets' }],
            },
          ],
          volumes: [
            {
              name: 'secrets',
              projected: {
                sources: [
                  fileOf(`${POSTGRES}-superuser`, 'password', 'postgres_superuser'),
                  fileOf(value('secrets.postgresWriter'), 'password', 'postgres_writer'),
                  fileOf(value('secrets.postgresReader'), 'password', 'postgres_reader'),
                  fileOf(value('secrets.postgresAnalyst'), 'password', 'postgres_analyst'),
                  fileOf(`${POSTGRES}-ca`, 'ca.crt', 'authority.crt'),
                ],
              },
            },
          ],
        },
      },
    },
  };
  return [cluster, settle];
}

/** A key of a secret as a file of a projected volume. */
function fileOf(secret: string, key: string, path: string): Manifest {
  return { secret: { name: secret, items: [{ key, path }] } };
}
