import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { instance } from '@viz-js/viz';
import { expect, test } from 'vitest';

const PICTURES = join(import.meta.dirname, '../../docs/pictures');

test.for(globSync('*.dot', { cwd: PICTURES }))(
  '%s is what its SVG shows; `vitest -u` makes the SVG anew',
  async (source) => {
    const viz = await instance();
    const svg = viz.renderString(readFileSync(join(PICTURES, source), 'utf8'), { format: 'svg' });
    await expect(svg).toMatchFileSnapshot(join(PICTURES, source.replace(/dot$/, 'svg')));
  },
);
