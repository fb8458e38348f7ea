/**
 * The secrets of docker-compose.yml, one file each. `infra/node.sh infra/compose/secrets.ts make
 * FOLDER` makes those that can be random and keeps what is there. `... check FOLDER` refuses on the
 * mainnet those that everybody knows; every container waits for it.
 */
import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { DEVELOPMENT_JWT_SECRET, DEVELOPMENT_XPUB } from '../../schemas/development.ts';
import { kafkaPasswordFile, RIGHTS } from '../kafka/acls.ts';
import { postgresUrl } from '../postgres/databases.ts';
import { analyst, database, reader, superuser, writer } from '../postgres/settings.ts';
import { defaultSettings } from '../services/settings.ts';

/** Passwords that are in addresses too: of Postgres's roles and of Redis. */
interface Passwords {
  readonly superuser: string;
  readonly writer: string;
  readonly reader: string;
  readonly redis: string;
}

const DEVELOPMENT: Passwords = {
  superuser: superuser.password,
  writer: writer.password,
  reader: reader.password,
  redis: 'clt_redis',
};

function urlOf(name: string, password: string): string {
  return postgresUrl({ name, password }, 'postgres:5432', database);
}

function random(): string {
  return randomBytes(24).toString('hex');
}

/** The files that belong together: passwords, and the addresses with them. */
function passwordFiles(of: Passwords): Readonly<Record<string, string>> {
  return {
    postgres_superuser: of.superuser,
    postgres_writer: of.writer,
    postgres_reader: of.reader,
    postgres_url: urlOf(writer.name, of.writer),
    postgres_reader_url: urlOf(reader.name, of.reader),
    redis_conf: `requirepass ${of.redis}`,
    redis_url: `redis://:${of.redis}@redis:6379`,
  };
}

/** The files with the password of each account at Kafka. */
function kafkaFiles(passwordOf: (file: string) => string): Readonly<Record<string, string>> {
  const files = RIGHTS.map(({ principal }) => kafkaPasswordFile(principal));
  return Object.fromEntries(files.map((file) => [file, passwordOf(file)]));
}

/** Publicly known, for the devnet: the files of infra/compose/development. */
export const developmentSecrets: Readonly<Record<string, string>> = {
  ...passwordFiles(DEVELOPMENT),
  postgres_analyst: analyst.password,
  ...kafkaFiles((file) => `clt_${file}`),
  jwt_secret: DEVELOPMENT_JWT_SECRET,
  // empty but while the key of tokens is replaced
  jwt_secret_also: '',
  mint_key: defaultSettings.APP_MINT_KEY,
  deposit_xpub: DEVELOPMENT_XPUB,
  // may be empty
  tron_api_key: '',
};

/** The problems of these secrets on this network, a sentence each. */
export function secretProblems(network: string, read: (name: string) => string): readonly string[] {
  return Object.entries(developmentSecrets).flatMap(([name, known]) => {
    const text = read(name).trim();
    if (known === '') return [];
    if (text === '') return [`the secret ${name} is empty: write it into its file`];
    const password = /:([^:@]*)@/.exec(known)?.[0];
    const isKnown = text === known || (password !== undefined && text.includes(password));
    return network === 'mainnet' && isKnown
      ? [
          `the secret ${name} is that of development, which everybody knows: on the mainnet APP_SECRETS_DIR has to name a folder with secrets of your own`,
        ]
      : [];
  });
}

/** Returns the names of the secrets that only a person can supply and that are not there yet. */
export function makeSecrets(folder: string): readonly string[] {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const together = passwordFiles({
    superuser: random(),
    writer: random(),
    reader: random(),
    redis: random(),
  });
  // a folder of an earlier version gets those that it lacks
  const single = {
    postgres_analyst: random(),
    ...kafkaFiles(random),
    jwt_secret: random(),
    jwt_secret_also: '',
  };
  const isThere = (name: string): boolean => existsSync(join(folder, name));
  const isNew = !Object.keys(together).some(isThere);
  const files = { ...(isNew ? together : {}), ...single };
  // accounts of containers read them; the folder keeps others on this machine out
  for (const [name, text] of Object.entries(files))
    if (!isThere(name)) {
      writeFileSync(join(folder, name), text, { flag: 'wx' });
      // whatever the umask is
      chmodSync(join(folder, name), 0o644);
    }
  return Object.keys(developmentSecrets).filter((name) => !isThere(name));
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const [, , command, folder = '/run/secrets'] = process.argv;
  const problems =
    command === 'make'
      ? makeSecrets(folder).map((name) => `write the secret ${name} into ${join(folder, name)}`)
      : secretProblems(process.env['APP_NETWORK'] ?? '', (name) =>
          readFileSync(join(folder, name), 'utf8'),
        );
  for (const problem of problems) process.stderr.write(`${problem}\n`);
  process.exitCode = command === 'make' || problems.length === 0 ? 0 : 1;
}
