import { setTimeout as after } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { TOPICS } from '../../../../schemas/topics.ts';
import { STATUS_LIMITS } from '../../../../services/ops/config.ts';
import { readStatus } from '../../../../services/ops/status/status.ts';
import { ChainNode } from '../../../../services/runtime/clt-node.ts';
import { Hosts } from '../../../../services/runtime/postgres/hosts.ts';
import { readConfig } from '../../../../services/runtime/process/config.ts';
import { never } from '../../../support/kafka.ts';
import { MemoryKafka } from '../../../support/memory-kafka.ts';

const NOWHERE = 'postgres://clt_reader:x@127.0.0.1:1/clt?sslmode=disable';
/** Longer than until the first screen. */
const SLOW_MS = 2_200;

test('the lag is known although Postgres answers late, and a node that is away says why', async () => {
  const kafka = new MemoryKafka(TOPICS);
  const checkpoint = ['explorer', '1', 'chain.blocks', '0', '0', '1.0', 'f'];
  const { projections, attention } = await readStatus(
    {
      node: new ChainNode('http://127.0.0.1:2', never),
      kafka,
      kafka_settings: { kafka_brokers: ['127.0.0.1:1'] },
      reader: {
        async rows({ name }) {
          if (name !== 'ops_positions') return [];
          // no limit: later than the first screen
          await after(SLOW_MS);
          return [checkpoint];
        },
      },
      hosts: Hosts.of(NOWHERE),
      services: undefined,
      disk: null,
      parts: new Map([['127.0.0.1:2', 'devnet']]),
      supervised: () => Promise.resolve(),
      node_url: 'http://127.0.0.1:2',
      urls: [],
      postgres_url: NOWHERE,
      limits: readConfig({}, STATUS_LIMITS),
    },
    600_000,
  );
  expect(projections).toMatchObject([{ projection: 'explorer', lag: 0n }]);
  expect(attention.join()).not.toContain('the lag is not known');
  expect(attention).toContain(
    'the CLT node did not serve /v1/chain: fetch failed: stopped or crashed, nothing listens: npx ops start devnet',
  );
});
