/** Opens what the treasury needs and runs it until the process is told to stop. */
import { DEPOSIT_ADDRESSES, TREASURY_LEDGER, TRON_TRANSFERS } from '../../schemas/topics.ts';
import { openCodec } from '../runtime/codec.ts';
import type { Fault } from '../runtime/errors.ts';
import { openHttp } from '../runtime/http.ts';
import { openKafka } from '../runtime/kafka.ts';
import { ensureTopics } from '../runtime/kafka-topics.ts';
import type { Service } from '../runtime/main.ts';
import { retrying } from '../runtime/wait.ts';
import type { TreasuryConfig } from './config.ts';
import { Treasury } from './treasury.ts';

const TOPICS = [DEPOSIT_ADDRESSES, TRON_TRANSFERS, TREASURY_LEDGER];

export async function serve({ config, log, metrics, signal, closing }: Service<TreasuryConfig>): Promise<void> {
  let opening: string | undefined = 'starting';
  let matter = (): string | undefined => opening;
  const http = await openHttp({ ...config, log, metrics, checks: [{ name: 'treasury', check: () => matter() }] });
  closing.add('http', () => http.drain());

  const patient = {
    log,
    signal,
    onFault(fault: Fault | undefined) {
      opening = fault === undefined ? 'starting' : `waiting: ${fault.code}`;
    },
  };
  const kafka = openKafka({ ...config, client_id: 'treasury' }, log);
  await retrying({ ...patient, what: 'looking for the topics' }, () => ensureTopics(kafka, TOPICS));
  const codec = await retrying({ ...patient, what: 'registering the schemas' }, () => openCodec(config.registry_url, TOPICS));
  const treasury = new Treasury({ ...config, kafka, codec, metrics, log, signal });
  matter = () => treasury.matter;
  await treasury.run();
}
