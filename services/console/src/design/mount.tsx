/** Shows a page in the element with this id, and asks for its answers again and again. */
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { StrictMode, type ReactNode } from 'react';
import { createRoot } from 'react-dom/client';
import { ServiceError } from '../api/service.ts';
import './tokens.css';
import './components.css';

/** The time between two looks at what may change. */
const LIVE_MS = 1_000;

function isRefusal(error: Error | null): boolean {
  return error instanceof ServiceError && error.status === 400;
}

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      // a refusal is final until the address changes; what is missing may come
      refetchInterval: ({ state }) => (isRefusal(state.error) ? false : LIVE_MS),
      retry: false,
      networkMode: 'always',
    },
  },
});

export function mount(id: string, page: ReactNode): void {
  const root = document.getElementById(id);
  if (root === null) return;
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={queries}>{page}</QueryClientProvider>
    </StrictMode>,
  );
}
