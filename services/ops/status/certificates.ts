/** When the certificates end with which `ops` is connected. */
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { connect as connectPlain, type Socket } from 'node:net';
import { connect, type PeerCertificate } from 'node:tls';
import type { KafkaSettings } from '../../runtime/kafka/port.ts';
import { parsePostgresUrl } from '../../runtime/process/postgres-url.ts';

export interface Certificate {
  /** whose it is */
  readonly of: string;
  /** below 0: it has expired */
  readonly days_left: number;
}

const DAY_MS = 86_400_000;

/** PostgreSQL documentation, "Message Formats", SSLRequest. */
const SSL_REQUEST = Buffer.from('0000000804d2162f', 'hex');

/**
 * Certificates of the brokers with TLS, of the own account, and of addresses with https; of the
 * hosts of the connection string to Postgres where it asks for TLS.
 */
export async function readCertificates(
  kafka: KafkaSettings,
  urls: readonly string[],
  postgres_url: string,
  answer_ms: number,
): Promise<readonly Certificate[]> {
  const hasTls =
    kafka.kafka_tls === 'on' ||
    (kafka.kafka_tls === undefined && (kafka.kafka_tls_ca ?? kafka.kafka_tls_cert) !== undefined);
  const secured = urls.map((url) => new URL(url)).filter(({ protocol }) => protocol === 'https:');
  const hosts = [
    ...(hasTls ? kafka.kafka_brokers : []),
    ...secured.map(({ hostname, port }) => `${hostname}:${port === '' ? '443' : port}`),
  ];
  const postgres = parsePostgresUrl(postgres_url);
  const databases = postgres === undefined || postgres.ssl === false ? [] : postgres.hosts;
  const own = {
    ...(kafka.kafka_tls_cert === undefined ? {} : { cert: kafka.kafka_tls_cert }),
    ...(kafka.kafka_tls_key === undefined ? {} : { key: kafka.kafka_tls_key }),
  };
  const read = await Promise.all([
    ...hosts.map(async (host) => {
      const at = host.lastIndexOf(':');
      const place = { host: host.slice(0, at).replaceAll(/[[\]]/g, ''), port: host.slice(at + 1) };
      const shown = await certificateAt({ ...place, own, is_postgres: false }, answer_ms);
      return { of: host, end: shown?.valid_to };
    }),
    ...databases.map(async ({ host, port }) => {
      const place = { host, port: String(port), own: {}, is_postgres: true };
      const shown = await certificateAt(place, answer_ms);
      return { of: `${host}:${port}`, end: shown?.valid_to };
    }),
  ]);
  if (kafka.kafka_tls_cert !== undefined)
    read.push({
      of: 'this account (APP_KAFKA_TLS_CERT)',
      end: new X509Certificate(kafka.kafka_tls_cert).validTo,
    });
  return read.flatMap(({ of, end }) =>
    // a host that does not answer is told by the part that asks it
    end === undefined ? [] : [{ of, days_left: (Date.parse(end) - Date.now()) / DAY_MS }],
  );
}

interface Place {
  readonly host: string;
  readonly port: string;
  /** the certificate by which this process proves itself, PEM */
  readonly own: { readonly cert?: string; readonly key?: string };
  readonly is_postgres: boolean;
}

/** The certificate that a server shows, whether or not it is believed. Undefined: no answer. */
export async function certificateAt(
  { host, port, own, is_postgres: isPostgres }: Place,
  answer_ms: number,
): Promise<PeerCertificate | undefined> {
  const signal = AbortSignal.timeout(answer_ms);
  const plain = connectPlain({ host, port: Number(port) });
  try {
    await once(plain, 'connect', { signal });
    if (isPostgres && !(await takesTls(plain, signal))) return undefined;
    const socket = connect({
      socket: plain,
      // an address is no name for a server
      ...(/^[\d.]+$|:/.test(host) ? {} : { servername: host }),
      ...own,
      // an expired one is to be read too
      rejectUnauthorized: false,
    });
    await once(socket, 'secureConnect', { signal });
    return socket.getPeerCertificate();
  } catch {
    return undefined;
  } finally {
    plain.destroy();
  }
}

/** Postgres begins without TLS, and is asked for it. */
async function takesTls(plain: Socket, signal: AbortSignal): Promise<boolean> {
  plain.write(SSL_REQUEST);
  const [answer]: [Buffer?] | unknown[] = await once(plain, 'data', { signal });
  return String(answer) === 'S';
}
