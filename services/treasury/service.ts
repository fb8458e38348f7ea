/** Opens what the treasury needs and runs it until the process is told to stop. */
import {
  CHAIN_BLOCKS,
  DEPOSIT_ADDRESSES,
  TREASURY_LEDGER,
  TRON_TRANSFERS,
} from '../../schemas/topics.ts';
import { ChainNode } from '../runtime/clt-node.ts';
import { openCodec } from '../runtime/kafka/codec.ts';
import type { Fault } from '../runtime/process/errors.ts';
import { openHttp } from '../runtime/http/server.ts';
import { openKafka } from '../runtime/kafka/client.ts';
import { ensureTopics } from '../runtime/kafka/topics.ts';
import type { Service } from '../runtime/process/main.ts';
import { retrying } from '../runtime/process/retry.ts';
import type { TreasuryConfig } from './config.ts';
import { MintSigner } from './minting/mint-signer.ts';
import { LOG_TOPICS } from './reconciliation/logs.ts';
import { NewestRun } from './reconciliation/newest-run.ts';
import { Reconciliation } from './reconciliation/reconciliation.ts';
import { reconciliationRoute } from './reconciliation/route.ts';
import { Treasury } from './treasury.ts';

const TOPICS = [
  ...new Set([DEPOSIT_ADDRESSES, TRON_TRANSFERS, TREASURY_LEDGER, CHAIN_BLOCKS, ...LOG_TOPICS]),
];

export async function serve({
  config,
  log,
  metrics,
  signal,
  closing,
}: Service<TreasuryConfig>): Promise<void> {
  let opening: string | undefined = 'starting';
  let matter = (): string | undefined => opening;
  const newest = new NewestRun();
  const http = await openHttp({
    ...config,
    log,
    metrics,
    routes: [reconciliationRoute(newest)],
    checks: [{ name: 'treasury', check: () => matter() }],
  });
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
  const codec = await retrying({ ...patient, what: 'registering the schemas' }, () =>
    openCodec(config.registry_url, TOPICS),
  );
  const reconciliation = new Reconciliation({
    config,
    kafka,
    codec,
    metrics,
    log,
    signal,
    newest,
    source: 'treasury',
  });
  const minting = {
    signer: new MintSigner(config.mint_key, config.chain_id),
    node: new ChainNode(config.node_url, signal),
    chain_id: config.chain_id,
    allowed: () => reconciliation.mintingAllowed(),
    every_ms: config.mint_every_ms,
    again_ms: config.mint_again_ms,
    late_ms: config.mint_late_ms,
  };
  const treasury = new Treasury({ ...config, kafka, codec, metrics, log, signal, minting });
  matter = () => treasury.matter ?? reconciliation.matter;
  await Promise.all([treasury.run(), reconciliation.run()]);
}
