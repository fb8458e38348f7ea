/** Opens the treasury's resources and runs it until the process has to stop. */
import {
  CHAIN_BLOCKS,
  DEPOSIT_ADDRESSES,
  RESERVE_RUNS,
  SCHEMA_IDS,
  TREASURY_LEDGER,
  TREASURY_SNAPSHOTS,
  TRON_TRANSFERS,
} from '../../schemas/topics.ts';
import { GET_RECONCILIATION, TREASURY_API } from '../../schemas/treasury-api/document.ts';
import { toHex } from '../../schemas/address.ts';
import { ChainNode } from '../runtime/clt-node.ts';
import { openCodec } from '../runtime/kafka/codec.ts';
import {
  Activity,
  NO_REMARKS,
  type HealthProblem,
  type Remarks,
} from '../runtime/process/health.ts';
import { documentRoutes } from '../runtime/http/document-routes.ts';
import { openHttp } from '../runtime/http/server.ts';
import { openKafka } from '../runtime/kafka/client.ts';
import { Lease } from '../runtime/kafka/lease.ts';
import { ensureTopics, watchTopics } from '../runtime/kafka/topics.ts';
import type { Service } from '../runtime/process/main.ts';
import { Snapshots } from '../runtime/snapshots/snapshots.ts';
import { sourcesVersion } from '../runtime/snapshots/sources-version.ts';
import { showProvider } from '../runtime/trongrid/settings.ts';
import type { TreasuryConfig } from './config.ts';
import { MintSigner } from './minting/mint-signer.ts';
import { Arrivals, arrivalsRoute } from './reconciliation/arrivals.ts';
import { LOG_TOPICS } from './reconciliation/logs.ts';
import { NewestRun, reconciliationRoute } from './reconciliation/newest-run.ts';
import { Reconciliation } from './reconciliation/reconciliation.ts';
import { TopicReadings } from './topic-readings.ts';
import { SNAPSHOT_NAMES } from './log-follower.ts';
import { Treasury } from './treasury.ts';

const TOPICS = [
  ...new Set([DEPOSIT_ADDRESSES, TRON_TRANSFERS, TREASURY_LEDGER, CHAIN_BLOCKS, ...LOG_TOPICS]),
];

/** The other topics it reads. */
const WRITTEN = [TREASURY_LEDGER, RESERVE_RUNS];

const LINKS = { [GET_RECONCILIATION.path]: 'the newest comparison' };

/** Timeout of a question to the second node: minting waits for the answer. */
const SECOND_NODE_MS = 5_000;

function noRemarks(): Remarks {
  return NO_REMARKS;
}

export async function serve({
  config,
  log,
  metrics,
  tracing,
  signal,
  closing,
}: Service<TreasuryConfig>): Promise<void> {
  const opening = new Activity({ log, signal });
  let problem = (): HealthProblem | undefined => opening.problem;
  showProvider(metrics, config);
  const signer = new MintSigner(config.mint_key, config.chain_id);
  const newest = new NewestRun(signer.address);
  const arrivals = new Arrivals();
  let phase = (): string => opening.phase;
  let remarks = noRemarks;
  const http = await openHttp(config, {
    log,
    metrics,
    routes: [
      reconciliationRoute(newest, config.reserve_tolerance),
      arrivalsRoute(arrivals),
      ...documentRoutes(TREASURY_API, undefined, LINKS),
    ],
    checks: [{ name: 'treasury', check: () => problem() }],
    phase: () => phase(),
    remarks: () => remarks(),
  });
  closing.add('http', () => http.drain());

  const kafka = openKafka(config, 'treasury', log);
  // without its schemas no record can be read
  const kept = [...TOPICS, SCHEMA_IDS, TREASURY_SNAPSHOTS];
  await opening.retrying('looking for the topics', () =>
    ensureTopics(kafka, kept, { durable: config.network === 'mainnet' }),
  );
  void watchTopics({ kafka, topics: kept, metrics, log, signal });
  const codec = await opening.retrying('registering the schemas', () =>
    openCodec(config, { kafka, log }, WRITTEN, TOPICS),
  );
  const snapshots = new Snapshots({
    kafka,
    topic: TREASURY_SNAPSHOTS,
    names: SNAPSHOT_NAMES,
    version: versionOf(config),
    key: signer.derived('treasury.snapshots'),
    bytes_min: config.snapshot_bytes_min,
    log,
  });
  await opening.retrying('looking for a snapshot', () => snapshots.load());
  const reading = new Activity({ log, signal });
  reading.enter('reading');
  const readings = {
    activity: reading,
    readings: new TopicReadings({
      kafka,
      codec,
      log,
      signal,
      retrying: (what, attempt) => reading.retrying(what, attempt),
      paused: snapshots.paused,
    }),
  };
  const lease = new Lease({
    kafka,
    group_id: 'treasury',
    topic: TREASURY_LEDGER.name,
    session_ms: config.kafka_session_ms,
    log,
    metrics,
    signal,
  });
  phase = () => lease.phase('deciding');
  closing.add('lease', () => lease.close());
  await opening.retrying('joining the group of treasuries', () => lease.start());
  const minting = {
    signer,
    node: new ChainNode(config.node_url, signal),
    second_node:
      config.second_node_url === ''
        ? undefined
        : new ChainNode(config.second_node_url, signal, SECOND_NODE_MS),
    chain_id: config.chain_id,
    receipt: (txId: Buffer) => reconciliation.receipt(txId),
    allowed: () => reconciliation.mintingAllowed(),
    every_ms: config.mint_every_ms,
    again_ms: config.mint_again_ms,
    late_ms: config.mint_late_ms,
    clock_apart_max_ms: config.clock_apart_max_ms,
  };
  const treasury = new Treasury({
    network: config.network,
    limits: config.limits,
    usdt_contract: config.usdt_contract,
    operators: config.operators,
    two_operators_above: config.two_operators_above,
    dust_below: config.dust_below,
    custody_addresses: config.custody_addresses,
    deposit_key: config.deposit_key,
    kafka,
    codec,
    readings,
    lease,
    metrics,
    log,
    tracing,
    signal,
    minting,
    snapshots,
  });
  const reconciliation = new Reconciliation({
    config,
    lease,
    kafka,
    codec,
    metrics,
    log,
    signal,
    signer,
    newest,
    readings: readings.readings,
    snapshots,
    arrivals,
    proofs: {
      isProven: (id) => treasury.proofs.isProven(id),
      isPaidBack: (id) => treasury.proofs.isPaidBack(id),
      isInternal: (id) => treasury.proofs.isInternal(id),
      displaced: () => treasury.proofs.displaced(),
    },
    own_addresses: treasury.own_addresses,
    source: 'treasury',
  });
  problem = () => lease.problem ?? treasury.problem ?? reconciliation.problem;
  remarks = () => {
    const { alarms, notes } = treasury.remarks;
    return { alarms, notes: [...notes, ...reconciliation.notes] };
  };
  await Promise.all([treasury.run(), reconciliation.run()]);
}

/** The code and the settings that the folds depend on. */
function versionOf({ chain_id, usdt_contract, deposit_key, dust_below }: TreasuryConfig): string {
  const paths = [
    '../../projections',
    '../../schemas',
    '../runtime',
    '.',
    '../../package-lock.json',
  ];
  const sources = sourcesVersion(paths.map((path) => new URL(path, import.meta.url)));
  const { fingerprint } = deposit_key;
  return [sources, chain_id, toHex(usdt_contract), toHex(fingerprint), dust_below].join(' ');
}
