/** The file of Docker Compose, as its own parser reads it. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { parse } from 'yaml';
import type { PortName } from '../../infra/services/ports.ts';
import type { ServiceSpec } from '../../infra/services/services.ts';

const ROOT = join(import.meta.dirname, '../..');

export interface Container {
  readonly image: string;
  readonly build?: object;
  readonly user: string;
  readonly entrypoint?: readonly string[];
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly env_file?: readonly string[];
  readonly secrets?: readonly string[];
  readonly networks?: readonly string[];
  readonly network_mode?: string;
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly tmpfs: readonly string[];
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly healthcheck?: { readonly test: readonly string[]; readonly start_period?: string };
  readonly restart?: string;
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly cap_add?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly pids_limit?: number;
  readonly mem_limit?: string;
  readonly privileged?: boolean;
  readonly profiles?: readonly string[];
}

export interface ComposeFile {
  readonly services: Readonly<Record<string, Container>>;
  readonly networks: Readonly<Record<string, { readonly internal?: boolean } | null>>;
  readonly secrets: Readonly<Record<string, { readonly file: string }>>;
}

export function textOf(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

export function parseCompose(text: string): ComposeFile {
  const file: ComposeFile = parse(text, { merge: true, maxAliasCount: -1 });
  return file;
}

/** Replaces `${NAME:-value}` by its default, as compose does when NAME is not set. */
export function withDefaults(text: string): string {
  return text.replaceAll(/\$\{[A-Z_]+:-([^}]*)\}/g, '$1');
}

/** The variables of the file that `env_file` names, with their placeholders. */
export function envFileOf({ env_file = [] }: Container): Record<string, string> {
  const texts = env_file.map((file) => textOf(withDefaults(file)));
  return Object.fromEntries(
    texts.flatMap((text) =>
      Object.entries(parseEnv(text)).map(([name, value]) => [name, value ?? ''] as const),
    ),
  );
}

/** The ports of a service that its containers publish. */
export function publicPorts({ name, ports }: ServiceSpec): readonly PortName[] {
  if (name === 'devnet') return ports;
  return name.endsWith('-gateway') ? [ports[0]] : [];
}

/** The text of a secret, as the container finds it with the default folder. */
export function secretOf({ secrets }: ComposeFile, name: string): string {
  return textOf(withDefaults(secrets[name]?.file ?? '')).trim();
}
