/**
 * Programs that give the accounts of a server their passwords and rights, at each start of a
 * deployment: `node settle.ts FOLDER HOST:PORT...`. The folder has a file for each password, and
 * `authority.crt` where the connection is encrypted.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const USAGE = 'usage: settle.ts FOLDER HOST:PORT...';

export interface Settling {
  /** host:port each */
  readonly hosts: readonly string[];
  readonly passwordOf: (file: string) => string;
  /** The path of the certificate that clients trust; undefined: nothing is encrypted. */
  readonly authority: string | undefined;
}

/** A sentence for a person about wrong arguments; undefined where nothing is wrong. */
export function usageProblem(
  folder: string,
  hosts: readonly string[],
  files: readonly string[],
): string | undefined {
  if (folder === '' || hosts.length === 0) return USAGE;
  const lacking = files.filter((file) => !existsSync(join(folder, file)));
  return lacking.length === 0 ? undefined : `${USAGE}; ${folder} lacks ${lacking.join(', ')}`;
}

/** The program: `files` are those that the folder has to have. */
export async function runSettling(
  files: readonly string[],
  settle: (given: Settling) => Promise<void>,
): Promise<void> {
  const [, , folder = '', ...hosts] = process.argv;
  const problem = usageProblem(folder, hosts, files);
  if (problem !== undefined) {
    process.stderr.write(`${problem}\n`);
    process.exitCode = 1;
    return;
  }
  const authority = join(folder, 'authority.crt');
  await settle({
    hosts,
    passwordOf: (file) => readFileSync(join(folder, file), 'utf8').trim(),
    authority: existsSync(authority) ? authority : undefined,
  });
}
