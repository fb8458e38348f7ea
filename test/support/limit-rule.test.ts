import { expect, test } from 'vitest';
import { shortLimits } from './limit-rule.ts';

test.each([
  `test('a', { timeout: 9_000 }, async () => {});`,
  `test('a', async () => {}, 9_000);`,
  `test('a', async () => {}, PATIENCE_MS);`,
  `test.each([1])('a', { timeout: 120_000 }, async () => {});`,
  `beforeAll(async () => {}, 240_000);`,
  `afterEach(() => stop(), 2 * 60_000);`,
  `await expect.poll(look, { timeout: 5_000 }).toBe(1);`,
  `await expect.poll(look, { timeout: PATIENCE_MS }).toBe(1);`,
  `await vi.waitFor(look, { interval: 5, timeout: 30_000 });`,
  `vi.setConfig({ testTimeout: 5_000 });`,
  `await fetch(url, { signal: AbortSignal.timeout(2_000) });`,
  `await fetch(url, { signal: AbortSignal.timeout(PATIENCE_MS) });`,
  `execFile('apt-get', [], { timeout: 60_000 });`,
  `socket.setTimeout(1_000, () => socket.destroy());`,
  `page.setDefaultTimeout(20_000);`,
  `page.locator('h1').waitFor({ timeout: SHOWN_MS });`,
  `setTimeout(() => child.kill(), 1_000);`,
  `const late = setTimeout(() => reject(new Error('late')), 100);`,
  `const pool = openReader({ statement_timeout_ms: 20_000 });`,
  `while (performance.now() < deadline) await look();`,
  `if (Date.now() - begun > 5_000) throw new Error('late');`,
  `expect(performance.now() - begun).toBeLessThan(30_000);`,
])('a limit that a slow machine can reach is found: %s', (source) => {
  expect(shortLimits(source)).toEqual([expect.stringMatching(/^1: /)]);
});

test.each([
  `test('a', async () => {});`,
  `test('a', runs);`,
  `test.each(cases)('a', ({ timeout }) => {});`,
  `beforeAll(() => void vi.useFakeTimers({ now: 1_000_000 }));`,
  `await expect.poll(look, { interval: 20 }).toBe(1);`,
  `await fetch(url, { signal: AbortSignal.timeout(HANG_MS) });`,
  `execFile('apt-get', [], { timeout: HANG_MS });`,
  `setTimeout(() => socket.write('more'), 20);`,
  `expect(performance.now() - begun).toBeGreaterThanOrEqual(390);`,
  `// limit under test\nopenReader({ statement_timeout_ms: 50 });`,
])('a limit of a hang, a pace and a limit under test are none: %s', (source) => {
  expect(shortLimits(source)).toEqual([]);
});
