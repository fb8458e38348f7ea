import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { expect, inject, onTestFinished, test } from 'vitest';
import { openKafka, withAdmin } from '../../../../../../services/runtime/kafka/client.ts';
import { silentLog } from '../../../../../support/kafka.ts';

test('questions go past a frozen first broker once one has waited for it', async () => {
  const sockets = new Set<Socket>();
  // as the machine of a frozen process does
  const frozen = createServer((socket) => sockets.add(socket)).listen(0, '127.0.0.1');
  await once(frozen, 'listening');
  const { port }: AddressInfo = JSON.parse(JSON.stringify(frozen.address()));
  const kafka = openKafka(
    {
      kafka_brokers: [`127.0.0.1:${port}`, inject('stack').kafka_brokers],
      kafka_request_ms: 1_000,
    },
    'test',
    silentLog(),
  );
  const asked = withAdmin(kafka, (admin) => admin.clusterId());
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    frozen.close();
    await asked.catch(() => undefined);
  });
  const known = await asked.catch(() => undefined);
  const waited = sockets.size;
  for (let times = 0; times < 3; times++) {
    const id = await withAdmin(kafka, (admin) => admin.clusterId());
    expect(id).toBe(known ?? id);
  }
  expect(sockets.size).toBe(waited);
});
