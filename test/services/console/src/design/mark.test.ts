import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { ICON } from '../../../../../services/console/src/design/mark.ts';

const FILE = new URL('../../../../../services/console/src/design/icon.svg', import.meta.url);

test('shapes are drawn onto the icon of the file', () => {
  expect(readFileSync(FILE, 'utf8').replaceAll(/\n\s*/g, '')).toBe(ICON);
});
