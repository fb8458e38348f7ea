/** Names of the accounts that the chain itself has, from what the explorer shows of them. */
import { useQuery } from '@tanstack/react-query';
import { useEffect } from 'react';
import type { Effect, Validator } from '../../../../schemas/explorer-api/accounts.ts';
import type { Block } from '../../../../schemas/explorer-api/blocks.ts';
import type { Transaction } from '../../../../schemas/explorer-api/transactions.ts';
import { CHAIN } from '../chain/text.ts';
import { learnNames } from '../design/names.ts';
import { page } from './explorer.ts';

const ZERO = `0x${'0'.repeat(40)}`;
const VALIDATORS_MAX = 100;
const FRESH_MS = 300_000;
const RETRY_MS = 10_000;

/** The account whose balance such an effect changed. */
function accountOf(
  effects: readonly Effect[],
  kind: string,
  direction: Effect['direction'],
): string | undefined {
  return effects.find((effect) => effect.kind === kind && effect.direction === direction)?.address;
}

/** The sender of a mint is the mint authority: the chain takes mints of nobody else. */
export async function readKnownNames(
  signal: AbortSignal,
): Promise<Readonly<Record<string, string>>> {
  const newest = async (type: string): Promise<Transaction | undefined> =>
    (await page<Transaction>('transactions', signal, { type, limit: 1 })).items[0];
  const effectsOf = async (path: string | undefined): Promise<readonly Effect[]> =>
    path === undefined ? [] : (await page<Effect>(`${path}/effects`, signal, {})).items;
  const [validators, { items: blocks }, mint, acceptance] = await Promise.all([
    page<Validator>('validators', signal, { limit: VALIDATORS_MAX }),
    page<Block>('blocks', signal, { limit: 1 }),
    newest('Mint'),
    newest('RideAcceptance'),
  ]);
  const [ofBlock, ofAcceptance] = await Promise.all([
    effectsOf(blocks[0] && `blocks/${blocks[0].hash}`),
    effectsOf(acceptance && `transactions/${acceptance.hash}`),
  ]);
  const words = CHAIN.names;
  // their numbers are known only where the list is whole
  const known = validators.older === undefined ? validators.items : [];
  const named: readonly (readonly [string | undefined, string])[] = [
    ...known.map(({ address }, at) => [address, words.validator(known.length - at)] as const),
    [mint?.from, words.authority],
    [accountOf(ofBlock, 'block_reward', 'debit'), words.rewards],
    [accountOf(ofAcceptance, 'ride_escrow', 'credit'), words.escrow],
    [ZERO, words.zero],
  ];
  return Object.fromEntries(
    named.flatMap(([address, name]) => (address === undefined ? [] : [[address, name]])),
  );
}

/** Asks for them once for all pages. */
export function useKnownNames(): void {
  const { data } = useQuery({
    queryKey: ['known names'],
    queryFn: ({ signal }) => readKnownNames(signal),
    staleTime: FRESH_MS,
    refetchInterval: ({ state }) => (state.data === undefined ? RETRY_MS : FRESH_MS),
    notifyOnChangeProps: ['data'],
  });
  useEffect(() => {
    if (data !== undefined) learnNames(data);
  }, [data]);
}
