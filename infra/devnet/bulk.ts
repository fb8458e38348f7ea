/** A block as large as wanted, of real transactions: transfers of one base unit, all signed by one account. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Block } from './clt/block.ts';
import type { VerifiedTransaction } from './clt/execute.ts';
import { signCall } from './clt/keys.ts';
import type { CltNode } from './clt/node.ts';
import { verifiedByUs } from './clt/verify.ts';

/** signed in one go, about 10 ms of work, before others get their turn */
const SIGNED_A_TURN = 25;

/** Signs the transactions, which takes about half a millisecond each, then makes a block of what waits and of them. One call at a time. */
export async function makeBulkBlock(
  node: CltNode,
  count: number,
  now: () => number,
): Promise<Block> {
  const { bulk, passengers, drivers } = node.genesis.cast;
  const recipients = [...passengers, ...drivers];
  const { chain_id } = node.chain.parameters;
  const first = node.chain.mempool.account(bulk.address).nonce;
  const signed: VerifiedTransaction[] = [];
  for (let index = 0; index < count; index++) {
    const to = recipients[index % recipients.length]?.address ?? bulk.address;
    const call = { function_call_type: 'Transfer', arguments: { to, amount: 1n } } as const;
    signed.push(verifiedByUs(signCall(bulk, chain_id, first + index, call), bulk.address));
    if (index % SIGNED_A_TURN === 0) await nextTurn();
  }
  for (const transaction of signed) {
    const result = node.enqueue(transaction);
    if ('refused' in result)
      throw new Error(`a transaction of a large block was refused: ${result.message}`);
  }
  return node.produce(now());
}
