/** The accounts of a cluster's servers. */
import { join } from 'node:path';
import { RIGHTS } from '../kafka/acls.ts';
import type { Access } from '../postgres/databases.ts';
import { analyst, reader, superuser, writer } from '../postgres/settings.ts';
import { ADMINISTRATOR } from './kafka.ts';
import { passwordBefore, passwordIn } from './passwords.ts';

/** The account by which a replica reads the log of the primary. */
export const REPLICATOR = 'clt_replica';
export const REGISTRY_READER = 'registry-reader';
export const REGISTRY_WRITER = 'registry-writer';

/** Kafka's principals: each service that opens Kafka, the operator and the administrator. */
export const kafkaPrincipals: readonly string[] = [
  ...RIGHTS.map(({ principal }) => principal),
  ADMINISTRATOR,
];

/** Every password of a cluster, made in `folder`. */
export interface Passwords {
  readonly kafka: Readonly<Record<string, string>>;
  readonly registry_reader: string;
  readonly registry_writer: string;
  readonly postgres: Omit<Access, 'parameters'>;
  readonly replicator: string;
  readonly redis: string;
  /** Passwords before the present ones, of accounts that have two for a while. */
  readonly before: Readonly<
    Record<'registry_reader' | 'registry_writer' | 'redis', string | undefined>
  >;
}

export function passwordsIn(folder: string): Passwords {
  const of = (name: string): string => passwordIn(folder, name);
  const before = (name: string): string | undefined => passwordBefore(folder, name);
  const role = ({ name }: { readonly name: string }) => ({
    name,
    password: of(`postgres-${name}`),
    before: before(`postgres-${name}`),
  });
  return {
    kafka: Object.fromEntries(kafkaPrincipals.map((name) => [name, of(`kafka-${name}`)])),
    registry_reader: of(REGISTRY_READER),
    registry_writer: of(REGISTRY_WRITER),
    postgres: {
      superuser: role(superuser),
      writer: role(writer),
      reader: role(reader),
      analyst: role(analyst),
    },
    replicator: of(`postgres-${REPLICATOR}`),
    redis: of('redis'),
    before: {
      registry_reader: before(REGISTRY_READER),
      registry_writer: before(REGISTRY_WRITER),
      redis: before('redis'),
    },
  };
}

/** The folder of the passwords and that of the certificates, below the data of a cluster. */
export function secretFolders(data: string): { passwords: string; certificates: string } {
  return { passwords: join(data, 'passwords'), certificates: join(data, 'certificates') };
}
