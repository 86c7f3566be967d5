/** How the web UI is built; scripts/build-web.ts runs it. `vite web` serves it live, beside a server on port 8787. */
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

const API = 'http://127.0.0.1:8787'
const ROUTES =
  '^/(?:sessions|users|recall|import|events|me|tokens|workspace|policies|agent|healthz|docs|openapi.json)(?:[/?]|$)'

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react()],
  build: {
    outDir: '../dist/web',
    emptyOutDir: true,
    target: 'es2024',
    // Nothing becomes a data: URL, so that the Content-Security-Policy needs no exception.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  server: { proxy: { [ROUTES]: API } },
})
