import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import {
  authorityFile,
  certificateFiles,
  makeCertificates,
  renewCertificate,
} from '../../../infra/cluster/certificates.ts';

const DAY_MS = 86_400_000;
const START = new Date('2026-01-01T00:00:00Z');

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'clt-test-certificates-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
});

function hosts(name: string): string[] {
  return ['127.0.0.1', name];
}

async function make(days: number, names: readonly string[] = ['kafka-1', 'redis']): Promise<void> {
  await makeCertificates(folder, names, hosts, new Date(START.getTime() + days * DAY_MS));
}

function certificate(name: string): X509Certificate {
  return new X509Certificate(readFileSync(certificateFiles(folder, name).cert));
}

test('each server has a certificate of the authority for its name and addresses', async () => {
  await make(0);
  const authority = new X509Certificate(readFileSync(authorityFile(folder)));
  expect(authority.ca).toBe(true);
  for (const name of ['kafka-1', 'redis']) {
    const made = certificate(name);
    expect(made.verify(authority.publicKey)).toBe(true);
    expect(made.subject).toBe(`CN=${name}`);
    expect(made.ca).toBe(false);
    expect(made.checkHost(name)).toBe(name);
    expect(made.checkIP('127.0.0.1')).toBe('127.0.0.1');
  }
});

test('only this user may read the keys', async () => {
  await make(0);
  const open = readdirSync(folder).filter((file) => (statSync(join(folder, file)).mode & 0o77) > 0);
  expect(open.toSorted()).toEqual(['authority.crt', 'kafka-1.crt', 'redis.crt']);
});

test('a certificate is kept until 30 days before its end, the authority for ten years', async () => {
  await make(0);
  const [first, authority] = [certificate('redis').raw, readFileSync(authorityFile(folder))];
  await make(300);
  expect(certificate('redis').raw).toEqual(first);
  await make(340);
  expect(certificate('redis').raw).not.toEqual(first);
  expect(readFileSync(authorityFile(folder))).toEqual(authority);
});

test('one server alone gets a certificate where its own is missing, and the authority stays', async () => {
  await make(0);
  const [kafka, redis] = [certificate('kafka-1').raw, certificate('redis').raw];
  const authority = readFileSync(authorityFile(folder));
  rmSync(certificateFiles(folder, 'redis').cert);
  // the authority ends too by then
  await renewCertificate(
    folder,
    'redis',
    hosts('redis'),
    new Date(START.getTime() + 3_640 * DAY_MS),
  );
  expect(certificate('redis').raw).not.toEqual(redis);
  expect(certificate('kafka-1').raw).toEqual(kafka);
  expect(readFileSync(authorityFile(folder))).toEqual(authority);
  expect(certificate('redis').verify(new X509Certificate(authority).publicKey)).toBe(true);
});

test('certificates of a lost authority are replaced', async () => {
  await make(0);
  rmSync(authorityFile(folder));
  await make(1);
  const authority = new X509Certificate(readFileSync(authorityFile(folder)));
  expect(certificate('redis').verify(authority.publicKey)).toBe(true);
});
