/** When the certificates end with which `ops` is connected. */
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:tls';
import type { KafkaSettings } from '../../runtime/kafka/port.ts';

export interface Certificate {
  /** whose it is */
  readonly of: string;
  /** below 0: it has expired */
  readonly days_left: number;
}

const DAY_MS = 86_400_000;

/** Certificates of the brokers with TLS, of the own account, and of addresses with https. */
export async function readCertificates(
  kafka: KafkaSettings,
  urls: readonly string[],
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
  const read = await Promise.all(
    hosts.map(async (host) => ({ of: host, end: await endAt(host, kafka, answer_ms) })),
  );
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

/** The end of the certificate that a host shows, whether or not it is believed. */
async function endAt(
  host: string,
  { kafka_tls_cert, kafka_tls_key }: KafkaSettings,
  answer_ms: number,
): Promise<string | undefined> {
  const at = host.lastIndexOf(':');
  const name = host.slice(0, at).replaceAll(/[[\]]/g, '');
  const socket = connect({
    host: name,
    port: Number(host.slice(at + 1)),
    // an address is no name for a server
    ...(/^[\d.]+$|:/.test(name) ? {} : { servername: name }),
    ...(kafka_tls_cert === undefined ? {} : { cert: kafka_tls_cert, key: kafka_tls_key }),
    // an expired one is to be read too
    rejectUnauthorized: false,
  });
  try {
    await once(socket, 'secureConnect', { signal: AbortSignal.timeout(answer_ms) });
    return socket.getPeerCertificate().valid_to;
  } catch {
    return undefined;
  } finally {
    socket.destroy();
  }
}
