/** The hub that operations see, without servers: `rows` answers each statement. */
import { SignIns } from '../../../services/hub-gateway/graphql/authentication.ts';
import { Balances, type Hub } from '../../../services/hub-gateway/graphql/context.ts';
import { Pipeline } from '../../../services/hub-gateway/graphql/pipeline.ts';
import { Turns } from '../../../services/runtime/limits/turns.ts';
import { Metrics } from '../../../services/runtime/process/metrics.ts';
import { silentLog } from '../../support/kafka.ts';
import type { GraphQLSchema } from 'graphql';
import type { Reader } from '../../../services/runtime/postgres/pool.ts';

const settings = {
  chain_id: 1,
  jwt_secret: 'x'.repeat(32),
  jwt_expiration_hours: 1,
  auth_single_use: false,
};

export function quietHub(rows: Reader['rows']): Hub {
  const reader = { rows };
  return {
    reader,
    shared_reads: reader,
    turns: new Turns(1),
    chain: {
      info: { chainId: '1', isTestnet: true, txFee: '1', totalSupply: '1', mintAuthority: '0x' },
    },
    node: {
      head: () => Promise.resolve({ height: 0, finalized_height: null }),
      nextNonce: () => Promise.resolve(0),
      submit: () => Promise.resolve({ code: 'accepted', json: {} }),
    },
    balances: new Balances(reader),
    sign_ins: new SignIns(settings, () => 0),
    rate: undefined,
    chain_id: 1,
    request_referrer: null,
    offer_referrer: null,
    list_rows_max: 10,
  };
}

/** Its pipeline, which is stopped with the process. */
export async function quietPipeline(schema: GraphQLSchema, hub: Hub): Promise<Pipeline> {
  const pipeline = new Pipeline({
    schema,
    hub,
    formatting: { log: silentLog(), suggestions: true },
    introspection: true,
    metrics: new Metrics('test'),
  });
  await pipeline.start();
  return pipeline;
}
