/**
 * Gives the roles of a deployment their passwords, rights and limits, at each start:
 * `node infra/postgres/settle.ts FOLDER HOST:PORT...`. The folder has a file for each password.
 * With `authority.crt` there the connection is encrypted. A replica is left as it is.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { tlsParameters } from '../cluster/environment.ts';
import { settlePostgres } from './databases.ts';
import { analyst, reader, superuser, writer } from './settings.ts';

const [, , folder = '', ...hosts] = process.argv;
const role = ({ name }: { readonly name: string }, file: string) => ({
  name,
  password: readFileSync(join(folder, file), 'utf8').trim(),
});
const access = {
  superuser: role(superuser, 'postgres_superuser'),
  writer: role(writer, 'postgres_writer'),
  reader: role(reader, 'postgres_reader'),
  analyst: role(analyst, 'postgres_analyst'),
};
const authority = join(folder, 'authority.crt');
const parameters = existsSync(authority) ? tlsParameters(authority) : '';
for (const host of hosts) await settlePostgres(host, { ...access, parameters });
