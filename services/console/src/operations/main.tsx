import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import '../design/tokens.css';
import '../design/components.css';
import './operations.css';
import { OperationsPage } from './page.tsx';

/** The time between two looks. */
const LIVE_MS = 1_000;

const queries = new QueryClient({
  defaultOptions: { queries: { refetchInterval: LIVE_MS, retry: false, networkMode: 'always' } },
});

const root = document.getElementById('operations');
if (root !== null)
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={queries}>
        <OperationsPage />
      </QueryClientProvider>
    </StrictMode>,
  );
