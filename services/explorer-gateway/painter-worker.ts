/** The thread of `painter.ts`: SVG in, PNG out, one after the other. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { parentPort } from 'node:worker_threads';
import { initWasm, Resvg } from '@resvg/resvg-wasm';

const { resolve } = createRequire(import.meta.url);
const FONTS = [400, 600].map((weight) =>
  readFileSync(resolve(`@fontsource/inter/files/inter-latin-${weight}-normal.woff2`)),
);

const isReady = initWasm(readFileSync(resolve('@resvg/resvg-wasm/index_bg.wasm')));

/** An error ends the thread: the next picture gets another one. */
async function paint(svg: string): Promise<void> {
  await isReady;
  const image = new Resvg(svg, { font: { fontBuffers: FONTS, defaultFontFamily: 'Inter' } });
  const rendered = image.render();
  const png = rendered.asPng();
  // memory of the rasteriser is its own
  rendered.free();
  image.free();
  parentPort?.postMessage(png, []);
}

parentPort?.on('message', (svg: string) => void paint(svg));
