/** A primary and a streaming replica, which serves reads. Both have the same settings. */
import { REPLICATOR } from './principals.ts';

/** Settings of both servers beyond those of a single one. */
export const clusterPostgresSettings: Readonly<Record<string, string>> = {
  wal_level: 'replica',
  max_wal_senders: '4',
  max_replication_slots: '4',
  // A replica that is away longer is made anew, so that it never fills the disk of the primary.
  max_slot_wal_keep_size: '4GB',
  // The primary keeps rows that a query on the replica still reads.
  hot_standby_feedback: 'on',
  ssl: 'on',
};

/** Who may connect, from these addresses, and only by TLS. */
export function hbaText(addresses: string): string {
  return [
    // the first start of the image, before it listens to others
    'local all all scram-sha-256',
    `hostssl all all ${addresses} scram-sha-256`,
    `hostssl replication ${REPLICATOR} ${addresses} scram-sha-256`,
    '',
  ].join('\n');
}

/** The name of the slot by which a replica of this name reads. */
export function slotOf(name: string): string {
  return name.replaceAll('-', '_');
}

/** How a replica of this name follows the other server. Unused while it is the primary. */
export function followSettings(
  name: string,
  peer: { readonly host: string; readonly port: number },
  password: string,
  authority: string,
): Record<string, string> {
  const connection = {
    host: peer.host,
    port: peer.port,
    user: REPLICATOR,
    password,
    sslmode: 'verify-ca',
    sslrootcert: authority,
    application_name: name,
  };
  return {
    primary_conninfo: Object.entries(connection)
      .map(([key, value]) => `${key}=${value}`)
      .join(' '),
    primary_slot_name: slotOf(name),
  };
}
