/** Opens what the gateway needs, makes sure of its key, and serves. */
import { DEPOSIT_ADDRESSES, type Topic } from '../../schemas/topics.ts';
import { openHttp } from '../runtime/http/server.ts';
import { STARTING, type HealthProblem } from '../runtime/process/health.ts';
import type { Service } from '../runtime/process/main.ts';
import { openReader } from '../runtime/postgres/pool.ts';
import { RateLimit } from '../runtime/http/rate-limit.ts';
import { openNotificationSubscriber } from '../runtime/redis.ts';
import { aborted } from '../runtime/process/retry.ts';
import { AddressLog } from './address-log.ts';
import { depositApp } from './app.ts';
import type { DepositGatewayConfig } from './config.ts';
import { DepositAddresses } from './deposit-addresses.ts';
import { pinScheme } from './scheme.ts';

const NAME = 'deposit-gateway';

/** Returns once it serves. `now` in Unix milliseconds. */
export async function serve(
  { config, log, metrics, signal, closing }: Service<DepositGatewayConfig>,
  topic: Topic = DEPOSIT_ADDRESSES,
  now = (): number => Date.now(),
): Promise<void> {
  let starting: HealthProblem | undefined = STARTING;
  const reader = openReader({ ...config, application_name: NAME }, log);
  closing.add('Postgres', () => reader.close());
  const addressLog = new AddressLog({ ...config, topic, log, signal });
  closing.add('Kafka', () => addressLog.close());
  const { addresses_per_minute: perMinute, addresses_burst: burst } = config;
  const limit =
    perMinute === 0
      ? undefined
      : new RateLimit({ rate_per_second: perMinute / 60, rate_burst: burst });
  const addresses = new DepositAddresses({
    ...config,
    reader,
    addresses: addressLog,
    limit,
    now,
    log,
    metrics,
    signal,
  });
  const notifications = openNotificationSubscriber(
    { ...config, client_name: NAME },
    ['projection:deposits'],
    {
      onNotification: (_channel, message) => addresses.told(message),
      onSubscribed: () => addresses.told(undefined),
    },
    log,
  );
  closing.add('Redis', () => notifications.close());
  const app = depositApp(config, {
    reader,
    addresses,
    now,
    starting: () => starting,
    writing: () => addressLog.problem,
  });
  const http = await openHttp({ ...config, log, metrics, ...app });
  closing.add('HTTP', () => http.drain());

  const onWait = (problem: HealthProblem): void => void (starting = problem);
  const start = async (): Promise<void> => {
    await pinScheme({
      key: config.deposit_key,
      reader,
      addresses: addressLog,
      now,
      log,
      signal,
      onWait,
    });
    if (!signal.aborted) starting = undefined;
    // what is known is served without it; a log that can never be written to ends the process
    await addressLog.opened();
  };
  // what is being tried when the process is told to stop keeps nobody waiting
  await Promise.race([start(), aborted(signal)]);
}
