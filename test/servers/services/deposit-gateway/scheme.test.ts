import { createHash } from 'node:crypto';
import { expect, inject, onTestFinished, test } from 'vitest';
import { readDepositKey } from '../../../../schemas/deposit-address.ts';
import { AddressLog } from '../../../../services/deposit-gateway/address-log.ts';
import { pinScheme } from '../../../../services/deposit-gateway/scheme.ts';
import { OTHER_XPUB, XPUB } from '../../../support/deposit-log.ts';
import { silentLog } from '../../../support/kafka.ts';
import { openWorld } from '../../../services/deposit-gateway/deposit-world.ts';

test('when two keys are pinned at once the first counts, and the gateway with the other refuses to start', async () => {
  const world = await openWorld(inject('stack'));
  const stop = new AbortController();
  const common = { ...world, ...world.stack, log: silentLog(), signal: stop.signal };
  onTestFinished(() => stop.abort());
  let looking = 2;
  const bothLooked = Promise.withResolvers<undefined>();
  const pin = (xpub: string): Promise<void> => {
    const read = readDepositKey(xpub);
    if ('problem' in read) throw new Error(read.problem);
    const { key } = read;
    const kafka_brokers = [world.stack.kafka_brokers];
    const log = new AddressLog({ ...common, servers: { ...world.stack, kafka_brokers }, key });
    onTestFinished(() => log.close());
    return pinScheme({
      key,
      address_log: {
        // both find the log empty before either appends
        opened: async () => {
          await log.opened();
          if (--looking === 0) bothLooked.resolve(undefined);
          await bothLooked.promise;
        },
        append: (events) => log.append(events),
        get fingerprint() {
          return log.fingerprint;
        },
      },
      now: Date.now,
    });
  };
  const pinning = new Map([XPUB, OTHER_XPUB].map((xpub) => [xpub, pin(xpub)]));
  const settled = Promise.allSettled(pinning.values());
  await settled;
  const [first] = await world.events();
  if (first?.type !== 'SchemePinned') throw new Error('the first event pins no key');
  for (const [xpub, pinned] of pinning) {
    if (fingerprintOf(xpub).equals(first.fingerprint ?? Buffer.alloc(0))) await pinned;
    else await expect(pinned).rejects.toMatchObject({ name: 'ConfigError' });
  }
});

function fingerprintOf(xpub: string): Buffer {
  return createHash('sha256').update(xpub).digest();
}
