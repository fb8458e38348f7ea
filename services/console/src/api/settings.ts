/** Where the other services are, as the explorer gateway was told. */
import { useQuery, type UseQueryResult } from '@tanstack/react-query';
import { send } from './service.ts';

export interface ConsoleSettings {
  /** null: nobody can sign in */
  readonly chain_id: number | null;
  /** null: it is not set up */
  readonly hub_url: string | null;
  readonly deposits_url: string | null;
  readonly tiles_url: string | null;
  /** before the id of a transaction on TRON; null: no page shows it, as on the devnet */
  readonly tron_url: string | null;
}

export function useSettings(): UseQueryResult<ConsoleSettings> {
  return useQuery({
    queryKey: ['settings'],
    queryFn: async ({ signal }) => {
      const response = await send('/console.json', { signal });
      const settings: ConsoleSettings = await response.json();
      return settings;
    },
    staleTime: Infinity,
    // asked again only until there is an answer
    refetchInterval: ({ state }) => (state.data === undefined ? 1_000 : false),
  });
}
