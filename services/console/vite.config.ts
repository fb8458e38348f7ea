import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

/** The address of the explorer that the pages of `vite dev` ask. */
const EXPLORER = 'http://127.0.0.1:17003';

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react()],
  build: {
    target: 'es2022',
    // the content security policy allows no data: URLs in scripts and styles
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // the map is one package
    chunkSizeWarningLimit: 1_200,
  },
  server: {
    host: '127.0.0.1',
    proxy: { '/api': EXPLORER, '/console.json': EXPLORER, '/docs': EXPLORER },
  },
});
