/**
 * The key that signs an operator's decisions: an encrypted key file, or a setting. A local stack
 * names its operator's key in the stack file.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { computeAddress, SigningKey, Wallet } from 'ethers';
import { parseAddress } from '../../../schemas/address.ts';
import { signatureBy, type HumanDecision } from '../../../schemas/operator-signature.ts';
import type { Setting } from '../../runtime/process/config.ts';
import { assert } from '../../runtime/process/errors.ts';
import { readSettings } from '../config.ts';
import { jsonOf, note, print } from '../connections.ts';
import { Misuse, type SharedArguments } from '../usage.ts';

const PASSWORD = 'APP_OPERATOR_PASSWORD';
const PASSWORD_MIN = 12;

export const KEY: Setting<SigningKey | undefined> = {
  name: 'APP_OPERATOR_KEY',
  expected: 'a private key, 0x and 64 hex digits',
  secret: true,
  fallback: undefined,
  read: keyOf,
};

export interface OperatorKey {
  /** 20 bytes */
  readonly address: Buffer;
  /** r, s and v over the decision for the ledger of this id, 65 bytes */
  sign(decision: HumanDecision, ledger_id: Buffer | undefined): Buffer;
}

export interface KeyArguments {
  readonly 'key-file': string | undefined;
}

/** The key of the file, otherwise of the setting; undefined without both. Throws `Misuse`. */
export async function readOperatorKey({
  stack,
  'key-file': file,
}: SharedArguments & KeyArguments): Promise<OperatorKey | undefined> {
  const key =
    file === undefined ? readSettings({ key: KEY }, stack).key : await decryptKeyFile(file);
  if (key === undefined) return undefined;
  return { address: addressOf(key), sign: (decision, id) => signatureBy(key, decision, id) };
}

/** `ops operators new-key`. */
export async function newKey({
  file,
  json,
}: SharedArguments & { readonly file: string }): Promise<number> {
  if (existsSync(file))
    throw new Misuse(`${file} exists: name another file, so that no key is lost`);
  const password = await newPassword();
  const wallet = new Wallet(Wallet.createRandom().privateKey);
  note('encrypting the key, which takes a few seconds');
  writeFileSync(file, `${await wallet.encrypt(password)}\n`, { mode: 0o600, flag: 'wx' });
  const address = wallet.address.toLowerCase();
  print(json === true ? jsonOf({ address, file }) : address);
  return 0;
}

async function decryptKeyFile(file: string): Promise<SigningKey> {
  let keystore: string;
  try {
    keystore = readFileSync(file, 'utf8');
  } catch {
    throw new Misuse(`${file} cannot be read: --key-file names a file of \`operators new-key\``);
  }
  const password = process.env[PASSWORD] ?? (await ask(`password of ${file}: `));
  try {
    const { privateKey } = await Wallet.fromEncryptedJson(keystore, password);
    return new SigningKey(privateKey);
  } catch {
    throw new Misuse(`${file} is not an encrypted key, or the password is another`);
  }
}

async function newPassword(): Promise<string> {
  const given = process.env[PASSWORD];
  const password = given ?? (await ask('password of the new key: '));
  if (password.length < PASSWORD_MIN)
    throw new Misuse(`the password has at least ${PASSWORD_MIN} characters`);
  if (given === undefined && (await ask('the same again: ')) !== password)
    throw new Misuse('the two passwords differ: nothing was written');
  return password;
}

/** A line from the terminal, which does not show it. */
async function ask(question: string): Promise<string> {
  if (!process.stdin.isTTY)
    throw new Misuse(`${PASSWORD} is not set, and there is no terminal to ask for the password`);
  process.stderr.write(question);
  const output = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: process.stdin, output, terminal: true });
  const stopped = new AbortController();
  lines.once('SIGINT', () => stopped.abort());
  try {
    return await lines.question('', { signal: stopped.signal });
  } catch {
    throw new Misuse('no password was given: nothing was done');
  } finally {
    lines.close();
    process.stderr.write('\n');
  }
}

function keyOf(text: string): SigningKey | undefined {
  try {
    const key = new SigningKey(text.startsWith('0x') ? text : `0x${text}`);
    // 0 and numbers from the order of the curve on are refused here only
    computeAddress(key);
    return key;
  } catch {
    return undefined;
  }
}

function addressOf(key: SigningKey): Buffer {
  const address = parseAddress(computeAddress(key));
  assert(address !== undefined, 'a key has an address');
  return address;
}
