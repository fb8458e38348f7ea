/** Where the other services are, as the explorer gateway was told. */
import { useQuery, type UseQueryResult } from '@tanstack/react-query';

export interface ConsoleSettings {
  /** null: nobody can sign in */
  readonly chain_id: number | null;
  /** null: it is not set up */
  readonly hub_url: string | null;
  readonly deposits_url: string | null;
  readonly tiles_url: string | null;
}

export function useSettings(): UseQueryResult<ConsoleSettings> {
  return useQuery({
    queryKey: ['settings'],
    queryFn: async ({ signal }) => {
      const response = await fetch('/console.json', { signal });
      if (!response.ok) throw new Error(`console.json: ${response.status}`);
      const settings: ConsoleSettings = await response.json();
      return settings;
    },
    staleTime: Infinity,
    // asked again only until there is an answer
    refetchInterval: ({ state }) => (state.data === undefined ? 1_000 : false),
  });
}
