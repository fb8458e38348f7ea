import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import './design/tokens.css';
import './design/components.css';
import { ServiceError } from './api/service.ts';
import { markSameAddresses } from './design/same-address.ts';
import { router } from './routes.tsx';

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

markSameAddresses();

const root = document.getElementById('console');
if (root !== null)
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={queries}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </StrictMode>,
  );
