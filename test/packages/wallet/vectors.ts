/** The test vectors of docs/wallets.md, read from its text. */
import { readFileSync } from 'node:fs';
import type { UnsignedTransaction } from '../../../packages/wallet/src/index.ts';
import type { SignInForm } from '../../../schemas/sign-in.ts';

interface Signed {
  readonly digest: string;
  readonly r: string;
  readonly s: string;
  readonly v: 27 | 28;
}

interface TransactionVector extends Signed {
  readonly unsigned: UnsignedTransaction;
  readonly bytes: string;
  readonly raw: string;
  readonly hash: string;
}

export const CHAIN_ID = 7777;
export const TIMESTAMP = 1_700_000_000;
export const PRIVATE_KEY = `0x${'0'.repeat(63)}1`;
export const ADDRESS = '0x7e5f4552091a69125d5dfcb7b8c2659029395bdf';
export const CHALLENGE = `service-auth:${CHAIN_ID}:${ADDRESS}:${TIMESTAMP}`;

export const DOCUMENT = readFileSync(new URL('../../../docs/wallets.md', import.meta.url), 'utf8');

/** The text of the fenced block with these words behind its fence. */
export function block(words: string): string {
  const found = DOCUMENT.split(`\n\`\`\`${words}\n`)[1]?.split('\n```')[0];
  if (found === undefined) throw new Error(`docs/wallets.md has no block ${words}`);
  return found;
}

export const SIGN_IN: readonly (Signed & { readonly form: SignInForm })[] = JSON.parse(
  block('json sign-in'),
);
export const TRANSACTIONS: readonly TransactionVector[] = JSON.parse(block('json transactions'));
