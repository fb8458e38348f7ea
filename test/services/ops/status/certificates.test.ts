import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer as createPlainServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer, TLSSocket } from 'node:tls';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { certificateFiles, makeCertificates } from '../../../../infra/cluster/certificates.ts';
import { readCertificates } from '../../../../services/ops/status/certificates.ts';
import { HANG_MS } from '../../../support/limits.ts';

const HOST = '127.0.0.1';
const DAY_MS = 86_400_000;
const NO_BROKER = { kafka_brokers: [] };
const NO_POSTGRES = `postgres://name:password@${HOST}:1/clt`;

let tls: { readonly cert: string; readonly key: string };
/** A certificate of a year that was made 351 days ago, so it ends in 14. */
beforeAll(async () => {
  const folder = mkdtempSync(join(tmpdir(), 'clt-test-certificates-'));
  const made_at = new Date(Date.now() - 351 * DAY_MS);
  await makeCertificates(folder, ['server'], () => [HOST], made_at);
  const { cert, key } = certificateFiles(folder, 'server');
  tls = { cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') };
  rmSync(folder, { recursive: true });
});

async function portOf(server: Server): Promise<string> {
  server.listen(0, HOST);
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  return String(Object(server.address()).port);
}

const ENDS_SOON = [
  { of: expect.stringContaining(HOST), days_left: expect.closeTo(14, 1) },
] as const;

test('the certificate of an address with https is read', async () => {
  const port = await portOf(createServer(tls));
  const urls = [`https://${HOST}:${port}/path`];
  expect(await readCertificates(NO_BROKER, urls, NO_POSTGRES, HANG_MS)).toEqual(ENDS_SOON);
});

test('the certificate of a broker is read where it has TLS, and of no other', async () => {
  const port = await portOf(createServer(tls));
  const brokers = { kafka_brokers: [`${HOST}:${port}`] };
  const secured = { ...brokers, kafka_tls: 'on' as const };
  expect(await readCertificates(secured, [], NO_POSTGRES, HANG_MS)).toEqual(ENDS_SOON);
  expect(await readCertificates(brokers, [], NO_POSTGRES, HANG_MS)).toEqual([]);
});

/** Postgres as far as TLS: it answers a request for it by one letter. */
async function postgresPort(answer: 'S' | 'N'): Promise<string> {
  const secured: TLSSocket[] = [];
  return await portOf(
    createPlainServer((socket) => {
      socket.once('data', (request) => {
        expect(request.toString('hex')).toBe('0000000804d2162f');
        socket.write(answer);
        if (answer === 'S') secured.push(new TLSSocket(socket, { ...tls, isServer: true }));
      });
    }),
  );
}

test('the certificate of each host of Postgres is read where the string asks for TLS', async () => {
  const hosts = `${HOST}:${await postgresPort('S')},${HOST}:${await postgresPort('S')}`;
  const url = `postgres://name:password@${hosts}/clt`;
  const read = await readCertificates(NO_BROKER, [], `${url}?sslmode=require`, HANG_MS);
  expect(read).toEqual([...ENDS_SOON, ...ENDS_SOON]);
  expect(await readCertificates(NO_BROKER, [], url, HANG_MS)).toEqual([]);
});

test('a server without TLS, or that does not answer, has no certificate', async () => {
  const refusing = await postgresPort('N');
  const hosts = `${HOST}:${refusing},${HOST}:1`;
  const url = `postgres://name:password@${hosts}/clt?sslmode=require`;
  expect(await readCertificates(NO_BROKER, [], url, HANG_MS)).toEqual([]);
});
