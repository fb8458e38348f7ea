import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, createServer } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import {
  authorityFile,
  certificateFiles,
  makeCertificates,
} from '../../../../infra/cluster/certificates.ts';
import { faultOf } from '../../../../services/runtime/postgres/pool.ts';

const DAY_MS = 86_400_000;

/** How a client that trusts an authority ends at a server with a certificate of that age. */
async function refusal(age_days: number, trusted: 'own' | 'another'): Promise<unknown> {
  const folder = mkdtempSync(join(tmpdir(), 'clt-test-distrust-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const [own, another] = [join(folder, 'own'), join(folder, 'another')];
  const made = new Date(Date.now() - age_days * DAY_MS);
  for (const each of [own, another])
    await makeCertificates(each, ['server'], () => ['127.0.0.1'], made);
  const { cert, key } = certificateFiles(own, 'server');
  const server = createServer({ cert: readFileSync(cert), key: readFileSync(key) });
  onTestFinished(() => void server.close());
  server.on('tlsClientError', () => undefined).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port }: { readonly port: number } = Object(server.address());
  const ca = readFileSync(authorityFile(trusted === 'own' ? own : another));
  const socket = connect({ host: '127.0.0.1', port, ca });
  onTestFinished(() => void socket.destroy());
  return await once(socket, 'secureConnect').then(
    () => undefined,
    (error: unknown) => error,
  );
}

test('a server whose certificate is good is believed', async () => {
  expect(await refusal(0, 'own')).toBeUndefined();
});

test.each([
  ['has expired', 800, 'own'],
  ['was signed by another authority', 0, 'another'],
] as const)('a server whose certificate %s is waited for', async (_why, days, trusted) => {
  expect(faultOf(await refusal(days, trusted))).toMatchObject({
    code: 'storage_unreachable',
    retry: true,
  });
});
