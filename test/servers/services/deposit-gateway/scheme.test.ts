import { expect, inject, onTestFinished, test } from 'vitest';
import { readDepositKey } from '../../../../schemas/deposit-address.ts';
import { AddressLog } from '../../../../services/deposit-gateway/address-log.ts';
import { pinScheme } from '../../../../services/deposit-gateway/scheme.ts';
import { openReader } from '../../../../services/runtime/postgres/pool.ts';
import { OTHER_XPUB, XPUB } from '../../../support/deposit-log.ts';
import { silentLog } from '../../../support/kafka.ts';
import { openWorld } from '../../../services/deposit-gateway/deposit-world.ts';

test('when two keys are pinned at once the first counts, and the gateway with the other refuses to start', async () => {
  const world = await openWorld(inject('stack'));
  const stop = new AbortController();
  const common = { ...world, ...world.stack, log: silentLog(), signal: stop.signal };
  const reader = openReader(
    {
      postgres_reader_url: world.reader_url,
      application_name: 'test',
      statement_timeout_ms: 20_000,
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
  const pin = (xpub: string): Promise<void> => {
    const log = new AddressLog({ ...common, kafka_brokers: [world.stack.kafka_brokers] });
    onTestFinished(() => log.close());
    const read = readDepositKey(xpub);
    if ('problem' in read) throw new Error(read.problem);
    const addressLog = {
      opened: () => log.opened(),
      append: log.append.bind(log),
      end: async () => {
        const end = await log.end();
        if (--looking === 0) bothLooked.resolve(undefined);
        await bothLooked.promise;
        return end;
      },
    };
    return pinScheme({
      ...common,
      key: read.key,
      reader,
      address_log: addressLog,
      now: Date.now,
      onWait: () => undefined,
    });
  };
  const pinning = new Map([XPUB, OTHER_XPUB].map((xpub) => [xpub, pin(xpub)]));
  const settled = Promise.allSettled(pinning.values());
  await expect.poll(async () => (await world.events()).length).toBe(2);
  const [first] = await world.events();
  if (first?.type !== 'SchemePinned') throw new Error('the first event pins no key');
  world.startProjector();
  await settled;
  for (const [xpub, pinned] of pinning) {
    if (xpub === first.extended_public_key) await pinned;
    else await expect(pinned).rejects.toMatchObject({ name: 'ConfigError' });
  }
});
