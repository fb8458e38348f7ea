/**
 * Gives the roles of a deployment their passwords, rights and limits, at each start:
 * `node infra/postgres/settle.ts FOLDER HOST:PORT...`. The folder has a file for each password.
 * With `authority.crt` there the connection is encrypted. A replica is left as it is.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { tlsParameters } from '../cluster/environment.ts';
import { settlePostgres } from './databases.ts';
import { analyst, reader, superuser, writer } from './settings.ts';

const USAGE = 'usage: settle.ts FOLDER HOST:PORT...';
const ROLES = { superuser, writer, reader, analyst } as const;

function fileOf(role: string): string {
  return `postgres_${role}`;
}

/** A sentence for a person about wrong arguments; undefined where nothing is wrong. */
export function usageProblem(folder: string, hosts: readonly string[]): string | undefined {
  if (folder === '' || hosts.length === 0) return USAGE;
  const lacking = Object.keys(ROLES)
    .map(fileOf)
    .filter((file) => !existsSync(join(folder, file)));
  return lacking.length === 0 ? undefined : `${USAGE}; ${folder} lacks ${lacking.join(', ')}`;
}

async function settle(folder: string, hosts: readonly string[]): Promise<void> {
  const role = (of: keyof typeof ROLES) => ({
    name: ROLES[of].name,
    password: readFileSync(join(folder, fileOf(of)), 'utf8').trim(),
  });
  const authority = join(folder, 'authority.crt');
  const access = {
    superuser: role('superuser'),
    writer: role('writer'),
    reader: role('reader'),
    analyst: role('analyst'),
    parameters: existsSync(authority) ? tlsParameters(authority) : '',
  };
  for (const host of hosts) await settlePostgres(host, access);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const [, , folder = '', ...hosts] = process.argv;
  const problem = usageProblem(folder, hosts);
  if (problem === undefined) await settle(folder, hosts);
  else {
    process.stderr.write(`${problem}\n`);
    process.exitCode = 1;
  }
}
