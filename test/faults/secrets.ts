/** Searches all output of a run's processes for secrets. */
import { createReadStream, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Folder } from '../../infra/local/stack/folder.ts';
import { defaultSettings } from '../../infra/services/settings.ts';
import type { System } from './system.ts';

const SECRET_NAME = /SECRET|PASSWORD|PRIVATE|_KEY$/;
/** Shorter ones would be found by chance. */
const CHARACTERS_MIN = 12;
/**
 * Secrets by their form: a signed token, an authorization header, a URL with a password, an
 * extended private key.
 */
const FORMS: readonly (readonly [what: string, form: RegExp])[] = [
  ['a token', /eyJ[\w-]{8,}\.[\w-]{8,}/],
  ['an authorization', /bearer\s+[\w-]{12,}/i],
  ['a URL with a password', /\w:\/\/[^\s/:@"']+:[^\s/@"']+@/],
  ['an extended private key', /xprv[1-9A-HJ-NP-Za-km-z]{20,}/],
];

/** The secret in a line; undefined: none. */
export function leakIn(line: string, secrets: ReadonlyMap<string, string>): string | undefined {
  const form = FORMS.find(([, pattern]) => pattern.test(line));
  if (form !== undefined) return form[0];
  for (const [secret, what] of secrets) if (line.includes(secret)) return what;
  return undefined;
}

/** The secrets of a system's services, the devnet's defaults and its own, with their names. */
export function secretsIn({ settings }: Pick<System, 'settings'>): ReadonlyMap<string, string> {
  const secrets = [defaultSettings, ...Object.values(settings)]
    .flatMap((environment) => Object.entries(environment))
    .filter(([name, value]) => SECRET_NAME.test(name) && value.length >= CHARACTERS_MIN);
  // hex is shown with and without its prefix
  return new Map(secrets.map(([name, value]) => [value.replace(/^0x/, ''), name]));
}

export interface Searched {
  readonly lines: number;
  readonly files: readonly string[];
  readonly violations: readonly string[];
}

/** Every line of every log of a stack. */
export async function searchLogs(
  folder: Folder,
  secrets: ReadonlyMap<string, string>,
): Promise<Searched> {
  const files = readdirSync(folder.logs, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  const found = new Set<string>();
  let lines = 0;
  for (const file of files) {
    for await (const line of createInterface({
      input: createReadStream(join(file.parentPath, file.name)),
    })) {
      lines++;
      const leak = leakIn(line, secrets);
      if (leak !== undefined) found.add(`${leak} stands in the log ${file.name}`);
    }
  }
  return { lines, files: files.map(({ name }) => name), violations: [...found] };
}
