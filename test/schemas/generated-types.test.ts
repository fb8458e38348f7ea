/** Types that clients generate from the documents, and programs written with these types. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { codegen } from '@graphql-codegen/core';
import * as operations from '@graphql-codegen/typescript-operations';
import { parse } from 'graphql';
import type * as OpenapiTypescript from 'openapi-typescript';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { checkout } from '../../infra/local/stack/folder.ts';
import { HUB_SDL } from '../../services/hub-gateway/graphql/schema.ts';
import { EXPLORER_API } from '../../schemas/explorer-api/document.ts';
import { DEPOSIT_API } from '../../schemas/deposit-api/document.ts';

/** A page that shows transactions, and whether a deposit is done. */
const PAGE = `
${typesOf('explorer', 'components, paths')}
${typesOf('deposits', 'paths as DepositPaths')}

type List = paths['/api/v1/transactions']['get'];
type Transaction = List['responses'][200]['content']['application/json']['items'][number];
type Deposit = DepositPaths['/api/v1/deposits/{id}']['get'];

export const query: List['parameters']['query'] = { type: 'RidePay', amounts: 'string', limit: 5 };
export const total = (items: Transaction[]): bigint =>
  items.reduce((sum, { amount }) => sum + BigInt(amount), 0n);
export const isCredit = (activity: components['schemas']['Activity']): boolean =>
  activity.direction === 'credit';
export function isDone({ status }: Deposit['responses'][200]['content']['application/json']): boolean {
  switch (status) {
    case 'credited':
      return true;
    case 'confirmed':
    case 'mint_requested':
    case 'needs_manual':
      return false;
  }
}
`;
const OPERATIONS = `
query Market($bounds: MapBoundsInput) {
  listRideRequests(bounds: $bounds) { txHash fare referrer }
  listRecentTrips(limit: 1) { txHash tripStatus }
}
mutation Pay($trip: String!, $fare: String!) {
  createUnsignedRidePay(rideAcceptanceTransactionHash: $trip, fare: $fare)
}
subscription Balance($key: String!) { accountBalanceUpdated(publicKey: $key) }
`;
/** A wallet that shows the market and pays. */
const WALLET = `
${typesOf('hub', 'BalanceSubscription, MarketQuery, MarketQueryVariables, PayMutationVariables')}

export const variables: MarketQueryVariables = { bounds: { minLat: 1, maxLat: 2, minLng: 3, maxLng: 4 } };
export const pay = (trip: string, fare: bigint): PayMutationVariables => ({ trip, fare: String(fare) });
export const cheapest = ({ listRideRequests: rides }: MarketQuery): bigint | undefined =>
  rides.map(({ fare }) => BigInt(fare)).sort((a, b) => Number(a - b))[0];
export const ended = ({ listRecentTrips: [trip] }: MarketQuery): 'completed' | 'cancelled' | undefined =>
  trip?.tripStatus;
export const balance = (message: BalanceSubscription): bigint => BigInt(message.accountBalanceUpdated);
`;
const TYPESCRIPT_6 = new URL('../support/typescript-6.ts', import.meta.url).href;
const ARGUMENTS = ['--noEmit', '--strict', '--noUncheckedIndexedAccess', '--lib', 'esnext'];
let folder = '';

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'clt-test-types-'));
  const openapi = await openapiTypescript();
  for (const [name, document] of Object.entries({ explorer: EXPLORER_API, deposits: DEPOSIT_API }))
    write(`${name}.d.ts`, openapi.astToString(await openapi.default(JSON.stringify(document))));
  write('hub.d.ts', await hubTypes());
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The generator works with a TypeScript before 7. */
async function openapiTypescript(): Promise<typeof OpenapiTypescript> {
  const hooks = registerHooks({
    resolve: (name, context, next) => next(name === 'typescript' ? TYPESCRIPT_6 : name, context),
  });
  try {
    return await import('openapi-typescript');
  } finally {
    hooks.deregister();
  }
}

async function hubTypes(): Promise<string> {
  return codegen({
    filename: 'hub.d.ts',
    schema: parse(HUB_SDL),
    documents: [{ location: 'market.graphql', document: parse(OPERATIONS) }],
    config: { scalars: { JSON: 'unknown' } },
    plugins: [{ operations: {} }],
    pluginMap: { operations },
  });
}

/** A line of a program: these types, from a generated file. */
function typesOf(file: string, names: string): string {
  return `import type { ${names} } from ${JSON.stringify(`./${file}.d.ts`)};`;
}

function write(name: string, text: string): void {
  writeFileSync(join(folder, name), text);
}

/** The complaints of the compiler. */
function compiled(name: string, program: string): string {
  write(name, program);
  const compiler = join(checkout, 'node_modules/.bin/tsc');
  try {
    execFileSync(compiler, [...ARGUMENTS, name], { cwd: folder, encoding: 'utf8' });
    return '';
  } catch (error) {
    return error instanceof Error && 'stdout' in error ? String(error.stdout) : String(error);
  }
}

test('a page compiles with the types that openapi-typescript generates', () => {
  expect(compiled('page.ts', PAGE)).toBe('');
});

test('a wallet compiles with the types that graphql-codegen generates', () => {
  expect(compiled('wallet.ts', WALLET)).toBe('');
});

test('the compiler finds a misspelt word', () => {
  const misspelt = PAGE.replace("case 'credited'", "case 'creditet'");
  expect(compiled('misspelt.ts', misspelt)).toContain('creditet');
});
