import { createHash } from 'node:crypto';
import { expect, inject, onTestFinished, test } from 'vitest';
import { readDepositKey } from '../../../../schemas/deposit-address.ts';
import { AddressLog } from '../../../../services/deposit-gateway/address-log.ts';
import { pinScheme } from '../../../../services/deposit-gateway/scheme.ts';
import { openReader, type Reader } from '../../../../services/runtime/postgres/pool.ts';
import { OTHER_XPUB, XPUB } from '../../../support/deposit-log.ts';
import { silentLog } from '../../../support/kafka.ts';
import { openWorld } from '../../../services/deposit-gateway/deposit-world.ts';
import { HANG_MS } from '../../../support/limits.ts';

test('when two keys are pinned at once the first counts, and the gateway with the other refuses to start', async () => {
  const world = await openWorld(inject('stack'));
  const stop = new AbortController();
  const common = { ...world, ...world.stack, log: silentLog(), signal: stop.signal };
  const reader = openReader(
    {
      postgres_reader_url: world.reader_url,
      application_name: 'test',
      statement_timeout_ms: HANG_MS,
      connections_max: 2,
    },
    common.log,
  );
  onTestFinished(async () => {
    stop.abort();
    await reader.close();
  });
  let looking = 2;
  const bothLooked = Promise.withResolvers<undefined>();
  // both find the log empty before either appends
  const together: Reader = {
    rows: async (query) => {
      const rows = await reader.rows(query);
      if (--looking === 0) bothLooked.resolve(undefined);
      await bothLooked.promise;
      return rows;
    },
  };
  const pin = (xpub: string): Promise<void> => {
    const read = readDepositKey(xpub);
    if ('problem' in read) throw new Error(read.problem);
    const { key } = read;
    const kafka_brokers = [world.stack.kafka_brokers];
    const log = new AddressLog({ ...common, kafka_brokers, reader: together, key });
    onTestFinished(() => log.close());
    return pinScheme({
      ...common,
      key,
      reader,
      address_log: log,
      now: Date.now,
      onWait: () => undefined,
    });
  };
  const pinning = new Map([XPUB, OTHER_XPUB].map((xpub) => [xpub, pin(xpub)]));
  const settled = Promise.allSettled(pinning.values());
  // the other one may see this event in time, and then appends none
  await expect.poll(async () => (await world.events()).length).toBeGreaterThan(0);
  const [first] = await world.events();
  if (first?.type !== 'SchemePinned') throw new Error('the first event pins no key');
  world.startProjector();
  await settled;
  for (const [xpub, pinned] of pinning) {
    if (fingerprintOf(xpub).equals(first.fingerprint ?? Buffer.alloc(0))) await pinned;
    else await expect(pinned).rejects.toMatchObject({ name: 'ConfigError' });
  }
});

function fingerprintOf(xpub: string): Buffer {
  return createHash('sha256').update(xpub).digest();
}
