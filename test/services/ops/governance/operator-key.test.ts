import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { folderAt, type Folder } from '../../../../infra/local/stack/folder.ts';
import { localAddresses } from '../../../../infra/local/stack/services.ts';
import { folderSettings } from '../../../../infra/local/stack/settings.ts';
import { describeStack, writeStackFile } from '../../../../infra/local/stack/stack-file.ts';
import { defaultPorts } from '../../../../infra/services/ports.ts';
import { toHex } from '../../../../schemas/address.ts';
import { signerOf } from '../../../../schemas/operator-signature.ts';
import { readOperatorKey } from '../../../../services/ops/governance/operator-key.ts';
import { ConfigError } from '../../../../services/runtime/process/config.ts';
import { depositEvents } from '../../../support/deposit-events.ts';
import { addressOf, alice } from '../../../support/operators.ts';

let folder: Folder;
beforeEach(() => {
  folder = folderAt(mkdtempSync(join(tmpdir(), 'clt-test-key-')));
  mkdirSync(folder.data);
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder.root, { recursive: true });
});

function readKey(file?: string): ReturnType<typeof readOperatorKey> {
  return readOperatorKey({ json: undefined, stack: folder.stack_file, 'key-file': file });
}

test('a local stack signs with the key of its only operator, without any argument', async () => {
  const settings = await folderSettings({}, folder);
  const at = localAddresses(defaultPorts);
  writeStackFile(folder, describeStack(folder, defaultPorts, at, settings, {}));
  const key = await readKey();
  if (key === undefined) throw new Error('there is no key');
  expect(toHex(key.address)).toBe(settings.APP_OPERATORS);
  const decision = depositEvents('6db65fd5-9fd3-86f6-b291-40571b5bcd6b').approved();
  const signature = key.sign(decision, undefined);
  expect(signerOf({ ...decision, signature })).toEqual(key.address);
  const ledger_id = Buffer.alloc(32, 1);
  const named = { ...decision, signature: key.sign(decision, ledger_id) };
  expect(signerOf(named, ledger_id)).toEqual(key.address);
  expect(signerOf(named)).not.toEqual(key.address);
});

test('without a stack, a setting and a key file there is no key', async () => {
  expect(await readKey()).toBeUndefined();
});

test('the setting goes before the stack, and a bad one is refused without being shown', async () => {
  writeStackFile(folder, { operator_key: `0x${'1'.repeat(64)}` });
  vi.stubEnv('APP_OPERATOR_KEY', alice.privateKey.slice(2));
  expect((await readKey())?.address).toEqual(addressOf(alice));
  for (const bad of ['a secret word', '0x12', `0x${'0'.repeat(64)}`, `0x${'f'.repeat(64)}`]) {
    vi.stubEnv('APP_OPERATOR_KEY', bad);
    await expect(readKey()).rejects.toThrow(ConfigError);
    await expect(readKey()).rejects.not.toThrow(bad);
  }
});

test('a key file without a password, and a file that is none, are refused', async () => {
  const file = join(folder.root, 'key.json');
  writeFileSync(file, '{}');
  await expect(readKey(file)).rejects.toThrow('APP_OPERATOR_PASSWORD is not set');
  vi.stubEnv('APP_OPERATOR_PASSWORD', 'a long password');
  await expect(readKey(file)).rejects.toThrow('is not an encrypted key');
  await expect(readKey(join(folder.root, 'none'))).rejects.toThrow('cannot be read');
});
