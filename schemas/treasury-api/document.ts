/** The operations of the treasury and its OpenAPI document, as `/openapi.json` serves it. */
import { json, type Operation } from '../http-api/document.ts';
import { cached, plainApi, uncached } from '../http-api/plain-api.ts';
import { ARRIVALS } from './arrivals.ts';
import { RECONCILIATION } from './reconciliation.ts';

export const GET_RECONCILIATION: Operation<[]> = {
  path: '/public/reconciliation',
  operationId: 'getReconciliation',
  tag: 'Treasury',
  summary: 'The newest comparison of supply and custody',
  parameters: [],
  answers: cached('The newest run, or null before the first.', json(RECONCILIATION)),
};

export const LIST_ARRIVALS: Operation<[]> = {
  path: '/arrivals',
  operationId: 'listArrivals',
  tag: 'Treasury',
  summary: 'Transfers in custody that the log lacks',
  description: 'The watcher asks its own provider about each.',
  parameters: [],
  answers: uncached('The transfers of the newest run.', json(ARRIVALS)),
};

export const TREASURY_API = plainApi({
  info: {
    title: 'CLT treasury',
    version: '1.0.0',
    summary: 'Decides what is minted, mints it, and compares the supply with the custody',
    description: 'Amounts are CLT base units and may exceed 2^53. Errors are `{code, message}`.',
  },
  tags: { Treasury: 'Read by other services.' },
  operations: [GET_RECONCILIATION, LIST_ARRIVALS],
});
