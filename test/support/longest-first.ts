import { statSync } from 'node:fs';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** At the end of a run, the other workers would wait for one of these. The longest come first. */
const LONG = [
  'faults/repairs',
  'faults/lost-topics',
  'faults/documents',
  'faults/deposits',
  'faults/failover',
  'faults/packages/wallet/once',
  'faults/mint',
  'faults/explorer',
  'faults/services/projector/service',
  'faults/services/console/outages',
  'faults/infra/local/main',
  'faults/infra/local/cluster-fail-over',
  'faults/services/treasury/reserve-statuses',
  'faults/services/explorer-gateway/storm',
  'faults/infra/postgres/readers',
  'faults/services/tron-watcher/alone',
  'faults/services/tron-watcher/late',
  'faults/services/tron-watcher/slow',
  'servers/services/console/console',
  'servers/services/treasury/whole-system',
  'servers/services/deposit-gateway/service',
  'servers/services/console/market',
  'servers/services/chain-ingester/service',
  'servers/services/ops/governance/command',
  'servers/services/projector/engine/runner',
  'servers/services/treasury/minting/minting',
  'servers/services/projector/rebuild/rebuild',
  'servers/services/explorer-gateway/export-chain',
  'servers/services/explorer-gateway/export-reading',
  'servers/services/runtime/kafka/membership',
  'servers/projections/determinism',
  'servers/services/tron-watcher/faults',
  'servers/services/treasury/minting/forged-records',
  'servers/infra/local/cluster/servers',
  'servers/services/ops/console/page',
  'servers/services/console/states',
  'servers/services/console/phone',
  'servers/services/console/moments',
  'servers/infra/local/main',
  'servers/services/projector/engine/batch-writer',
  'servers/services/runtime/kafka/reader-lost',
  'servers/services/projector/engine/runner-halts',
  'servers/services/tron-watcher/watcher',
  'servers/services/hub-gateway/clients-browser',
  'servers/services/hub-gateway/clients-sockets',
  'servers/services/hub-gateway/graphiql',
  'servers/services/hub-gateway/resilience',
  'services/console/src/market/ground',
  'infra/prometheus/metrics',
  'model/mint-protocol',
  'infra/prometheus/alertmanager',
  'services/ops/audit/mutations',
  'support/closing-line',
  'services/runtime/http/streamed-body',
  'services/runtime/process/main',
].map((path) => `/test/${path}.test.ts`);

/** The place of a file: below 0 for a long one, otherwise the larger the sooner. */
function placeOf({ moduleId }: TestSpecification): number {
  const at = LONG.findIndex((path) => moduleId.endsWith(path));
  return at === -1 ? 1 / statSync(moduleId).size : at - LONG.length;
}

/** A worker ends when the next file is of another project, and the next one loads all again. */
const PROJECTS = ['house', 'unit', 'servers', 'faults', 'containers', 'chart'];

function projectOf({ project }: TestSpecification): number {
  return PROJECTS.indexOf(project.name);
}

/** By project; the long files before all others, and of these the larger ones first. */
export class LongestFirst extends BaseSequencer {
  override sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = files.toSorted(
      (one, other) => projectOf(one) - projectOf(other) || placeOf(one) - placeOf(other),
    );
    return Promise.resolve(sorted);
  }
}
