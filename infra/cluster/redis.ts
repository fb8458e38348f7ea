/** A primary and a replica of Redis, and three sentinels that promote the replica. */
import { redisSettings } from '../local/servers/redis.ts';

/** The name by which sentinels know the primary. */
export const REDIS_NAME = 'clt';
export const SENTINELS = 3;
const QUORUM = 2;

interface Place {
  readonly bind: string;
  readonly port: number;
  /** Paths of PEM files. */
  readonly cert: string;
  readonly key: string;
  readonly authority: string;
  readonly password: string;
  /** host port of the first primary */
  readonly primary: readonly [host: string, port: number];
}

function secured({ bind, port, cert, key, authority, password }: Place): string[] {
  return [
    `bind ${bind}`,
    'port 0',
    `tls-port ${port}`,
    `tls-cert-file ${cert}`,
    `tls-key-file ${key}`,
    `tls-ca-cert-file ${authority}`,
    // clients prove themselves by password
    'tls-auth-clients no',
    'tls-replication yes',
    `requirepass ${password}`,
  ];
}

/** redis.conf of a server. Redis rewrites the file when a sentinel gives it another role. */
export function redisConf(place: Place, follows: boolean): string {
  const [host, port] = place.primary;
  const plain = redisSettings
    .join(' ')
    .split('--')
    .map((setting) => setting.trim())
    .filter((setting) => setting !== '')
    .map((setting) => (setting === 'save' ? 'save ""' : setting));
  const lines = [
    ...secured(place),
    ...plain,
    `masterauth ${place.password}`,
    ...(follows ? [`replicaof ${host} ${port}`] : []),
  ];
  return `${lines.join('\n')}\n`;
}

/** sentinel.conf, in which a sentinel keeps what it knows. */
export function sentinelConf(place: Place): string {
  const [host, port] = place.primary;
  const lines = [
    ...secured(place),
    // for names of containers
    'sentinel resolve-hostnames yes',
    `sentinel monitor ${REDIS_NAME} ${host} ${port} ${QUORUM}`,
    `sentinel auth-pass ${REDIS_NAME} ${place.password}`,
    `sentinel down-after-milliseconds ${REDIS_NAME} 2000`,
    `sentinel failover-timeout ${REDIS_NAME} 10000`,
    `sentinel sentinel-pass ${place.password}`,
  ];
  return `${lines.join('\n')}\n`;
}
