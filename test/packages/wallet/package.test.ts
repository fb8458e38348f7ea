import { execFile } from 'node:child_process';
import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { rolldown } from 'rolldown';
import { TRANSACTIONS } from './vectors.ts';

const ROOT = join(import.meta.dirname, '../../..');
const PACKAGE = join(ROOT, 'packages/wallet');
const TSC = join(ROOT, 'node_modules/.bin/tsc');
const run = promisify(execFile);

const manifest = JSON.parse(readFileSync(join(PACKAGE, 'package.json'), 'utf8'));
/** A project with the built package among its own. */
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'wallet-package-'));
  const installed = join(folder, 'node_modules/@clt/wallet');
  await run(TSC, ['--project', PACKAGE, '--outDir', join(installed, 'dist')]);
  writeFileSync(join(installed, 'package.json'), JSON.stringify(manifest));
  for (const name of ['@noble', 'graphql', 'graphql-ws'])
    symlinkSync(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name));
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Bytes of a minified bundle of the code for browsers. */
async function bundled(code: string): Promise<number> {
  const input = join(folder, 'entry.js');
  writeFileSync(input, code);
  const bundle = await rolldown({ input, platform: 'browser' });
  const { output } = await bundle.generate({ minify: true });
  await bundle.close();
  return output.reduce((sum, part) => sum + (part.type === 'chunk' ? part.code.length : 0), 0);
}

test('its dependencies are those that the tests run with', () => {
  const project = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  const installed = { ...project.dependencies, ...project.devDependencies };
  expect(installed).toMatchObject(manifest.dependencies);
});

test('each module comes with its types', () => {
  const files = readdirSync(join(folder, 'node_modules/@clt/wallet/dist'));
  const modules = readdirSync(join(PACKAGE, 'src')).map((name) => name.replace('.ts', ''));
  expect(files.toSorted()).toEqual(
    modules.flatMap((name) => [`${name}.d.ts`, `${name}.js`]).toSorted(),
  );
});

test('the built package signs in Node', async () => {
  const code = `import { privateKeySigner, signTransaction } from '@clt/wallet';
    const signer = privateKeySigner('0x' + '1'.padStart(64, '0'));
    const signed = await signTransaction(7777, JSON.parse(process.argv[2]), signer);
    process.stdout.write(JSON.stringify(signed));`;
  writeFileSync(join(folder, 'sign.js'), code);
  const [vector] = TRANSACTIONS;
  const { stdout } = await run(process.execPath, [
    join(folder, 'sign.js'),
    JSON.stringify(vector?.unsigned),
  ]);
  expect(JSON.parse(stdout)).toMatchObject({ raw: vector?.raw, hash: vector?.hash });
});

/** Complaints of the compiler about these files of the project. */
async function complaints(files: Readonly<Record<string, string>>): Promise<readonly string[]> {
  for (const [name, code] of Object.entries(files)) writeFileSync(join(folder, name), code);
  const options = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2022'];
  const compiled = run(TSC, [...options, '--types', '', ...Object.keys(files)], { cwd: folder });
  const { stdout } = await compiled.catch((error: { readonly stdout: string }) => error);
  return stdout.split('\n').filter((line) => line.includes('error'));
}

test('the examples of its page compile in a strict project', async () => {
  const page = readFileSync(join(PACKAGE, 'README.md'), 'utf8');
  const examples = Array.from(page.matchAll(/```ts\n(.*?)```/gs), ([, code = '']) => code);
  expect(examples).toHaveLength(3);
  const files = examples.map((code, at) => [`example-${at}.ts`, code]);
  expect(await complaints(Object.fromEntries(files))).toEqual([]);
});

test('a wallet that signs messages only is no signer of transactions', async () => {
  const code = `import { browserSigner, privateKeySigner, signTransaction, type UnsignedTransaction } from '@clt/wallet';
declare const unsigned: UnsignedTransaction;
declare const ethereum: Parameters<typeof browserSigner>[0];
export const signed = signTransaction(1, unsigned, privateKeySigner('0x01'));
export const refused = signTransaction(1, unsigned, await browserSigner(ethereum));
`;
  const errors = await complaints({ 'typed.ts': code });
  expect(errors).toEqual([
    expect.stringMatching(/^typed\.ts\(5,\d+\): error TS2741: Property 'signDigest' is missing/),
  ]);
});

test('a bundle holds no more than is used', async () => {
  const sizes = {
    whole: await bundled(`export * from '@clt/wallet';`),
    bytes: await bundled(`export { unsignedDigest } from '@clt/wallet';`),
    sign_in: await bundled(`export { browserSigner, signIn } from '@clt/wallet';`),
    sockets: await bundled(`export { socketClient } from '@clt/wallet';`),
    nothing: await bundled(`import '@clt/wallet';`),
  };
  expect(sizes.nothing).toBeLessThan(100);
  expect(sizes.bytes).toBeLessThan(12_000);
  // the curve, by which the wallet's answer is checked
  expect(sizes.sign_in).toBeLessThan(55_000);
  expect(sizes.whole).toBeGreaterThan(2 * sizes.bytes);
  expect(sizes.sockets).toBeLessThan(12_000);
  expect(sizes.whole).toBeLessThan(70_000);
});
