import { mergeConfig } from 'vite';
import explorer from './vite.config.ts';

/** The page of `ops console`, apart from the explorer's. */
export default mergeConfig(explorer, {
  build: { outDir: 'operations-dist', rolldownOptions: { input: 'operations.html' } },
  server: { proxy: { '/api': 'http://127.0.0.1:17030' } },
});
