/**
 * Gives the roles of a deployment their passwords, rights and limits, at each start:
 * `node infra/postgres/settle.ts FOLDER HOST:PORT...`. A replica is left as it is.
 */
import { tlsParameters } from '../cluster/environment.ts';
import { runSettling } from '../settling.ts';
import { settlePostgres } from './databases.ts';
import { analyst, reader, superuser, writer } from './settings.ts';

const ROLES = { superuser, writer, reader, analyst } as const;

function fileOf(role: string): string {
  return `postgres_${role}`;
}

await runSettling(Object.keys(ROLES).map(fileOf), async ({ hosts, passwordOf, authority }) => {
  const role = (of: keyof typeof ROLES) => ({
    name: ROLES[of].name,
    password: passwordOf(fileOf(of)),
  });
  const access = {
    superuser: role('superuser'),
    writer: role('writer'),
    reader: role('reader'),
    analyst: role('analyst'),
    parameters: authority === undefined ? '' : tlsParameters(authority),
  };
  for (const host of hosts) await settlePostgres(host, access);
});
