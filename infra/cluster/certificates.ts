/**
 * Certificates of a cluster that nobody else trusts: an authority and one certificate for each
 * server, made in a folder. They prove servers to clients, and brokers to each other; a
 * service proves itself by its password.
 */
import { X509Certificate } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { generate, type SelfsignedOptions } from 'selfsigned';

const DAY_MS = 86_400_000;
const AUTHORITY_DAYS = 3_650;
const SERVER_DAYS = 365;
/** A certificate that ends sooner is replaced at the next start. */
const RENEW_BEFORE_DAYS = 30;
const AUTHORITY = 'authority';

/** Paths of PEM files; only this user may read those with a key. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
  /** The key, the certificate and the authority's certificate in one file, as Kafka reads them. */
  readonly keystore: string;
}

/** The path of the authority's certificate in this folder, which clients trust. */
export function authorityFile(folder: string): string {
  return join(folder, `${AUTHORITY}.crt`);
}

/** The paths of the certificate of this name in this folder. */
export function certificateFiles(folder: string, name: string): Certificate {
  const path = join(folder, name);
  return { cert: `${path}.crt`, key: `${path}.key`, keystore: `${path}.pem` };
}

/**
 * Makes what is missing, ends soon or was signed by another authority. `hosts` are the names and
 * IPv4 addresses by which clients reach the servers; the common name of a server is its principal.
 */
export async function makeCertificates(
  folder: string,
  names: readonly string[],
  hosts: (name: string) => readonly string[],
  now: Date,
): Promise<void> {
  mkdirSync(folder, { recursive: true, mode: 0o755 });
  if (!isGood(authorityFile(folder), daysAfter(now, RENEW_BEFORE_DAYS)))
    await make(
      folder,
      AUTHORITY,
      [now, daysAfter(now, AUTHORITY_DAYS)],
      [
        { name: 'basicConstraints', cA: true, critical: true },
        { name: 'keyUsage', keyCertSign: true, cRLSign: true, critical: true },
      ],
    );
  for (const name of names) await renewCertificate(folder, name, hosts(name), now);
}

/** Makes the certificate of one server anew unless it is good. The authority stays. */
export async function renewCertificate(
  folder: string,
  name: string,
  hosts: readonly string[],
  now: Date,
): Promise<void> {
  const { cert, key } = certificateFiles(folder, AUTHORITY);
  const ca = { cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') };
  const { cert: own } = certificateFiles(folder, name);
  if (isGood(own, daysAfter(now, RENEW_BEFORE_DAYS), ca.cert)) return;
  const extensions: SelfsignedOptions['extensions'] = [
    { name: 'basicConstraints', cA: false, critical: true },
    { name: 'keyUsage', digitalSignature: true, critical: true },
    { name: 'extKeyUsage', serverAuth: true, clientAuth: true },
    { name: 'subjectAltName', altNames: hosts.map(alternative) },
  ];
  await make(folder, name, [now, daysAfter(now, SERVER_DAYS)], extensions, ca);
}

function daysAfter(now: Date, days: number): Date {
  return new Date(now.getTime() + days * DAY_MS);
}

async function make(
  folder: string,
  name: string,
  [now, notAfterDate]: readonly [Date, Date],
  extensions: NonNullable<SelfsignedOptions['extensions']>,
  ca?: { readonly cert: string; readonly key: string },
): Promise<void> {
  const { cert, private: key } = await generate([{ name: 'commonName', value: name }], {
    keyType: 'ec',
    algorithm: 'sha256',
    // clocks of containers differ
    notBeforeDate: daysAfter(now, -1),
    notAfterDate,
    extensions,
    ...(ca === undefined ? {} : { ca }),
  });
  const files = certificateFiles(folder, name);
  writeFileSync(files.cert, cert);
  writeFileSync(files.key, key, { mode: 0o600 });
  if (ca !== undefined) writeFileSync(files.keystore, `${key}${cert}\n${ca.cert}`, { mode: 0o600 });
}

function alternative(host: string): { type: 2; value: string } | { type: 7; ip: string } {
  return /^[\d.]+$/.test(host) ? { type: 7, ip: host } : { type: 2, value: host };
}

function isGood(file: string, renew_at: Date, authority?: string): boolean {
  if (!existsSync(file)) return false;
  const certificate = new X509Certificate(readFileSync(file));
  if (certificate.validToDate < renew_at) return false;
  return authority === undefined || certificate.verify(new X509Certificate(authority).publicKey);
}
