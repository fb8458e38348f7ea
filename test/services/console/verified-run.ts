/** A chain of five blocks whose bytes prove themselves, and a run that is right for its block 3. */
import { deriveKey, mintAuthorityKey } from '../../../infra/devnet/clt/keys.ts';
import { parseAddress, toHex } from '../../../schemas/address.ts';
import type { BlockAppended } from '../../../schemas/chain.blocks/events.ts';
import { RECORDED_RUN, type RecordedRun } from '../../../schemas/explorer-api/reserve.ts';
import { exampleOf } from '../../../schemas/http-api/answer.ts';
import { ChainByHand, signedCall, type TransactionByHand } from '../../support/chain-by-hand.ts';

export const AUTHORITY = mintAuthorityKey('verify');
export const [ALICE, BOB] = [deriveKey('verify', 'alice'), deriveKey('verify', 'bob')];
export const USD = 1_000_000n;

export function bytes(address: string): Buffer {
  const parsed = parseAddress(address);
  if (parsed === undefined) throw new Error(`${address} is no address`);
  return parsed;
}

export function mint(nonce: number, amount: bigint, key = AUTHORITY): TransactionByHand {
  const call = { to: ALICE.address, amount, reference: null };
  return signedCall(key, nonce, { function_call_type: 'Mint', arguments: call });
}

function burn(amount: bigint): TransactionByHand {
  const call = { amount, redemption_ref: null };
  return signedCall(ALICE, 1, { function_call_type: 'Burn', arguments: call });
}

export function created(amount: bigint, tx_index: number | null = 0) {
  return { address: bytes(ALICE.address), kind: 'mint', delta: amount, tx_index };
}

/** 1,000 at the beginning, two mints of 100 and 20, one transfer, 5 burned. */
function blocksOf(): readonly BlockAppended[] {
  const chain = new ChainByHand();
  const call = { to: BOB.address, amount: 3n * USD };
  const transfer = signedCall(ALICE, 0, { function_call_type: 'Transfer', arguments: call });
  chain.append({ effects: [created(1_000n * USD, null)] });
  chain.append({ transactions: [mint(0, 100n * USD)], effects: [created(100n * USD)] });
  chain.append({
    transactions: [transfer],
    effects: [
      { address: bytes(ALICE.address), delta: -3n * USD, tx_index: 0 },
      { address: bytes(BOB.address), delta: 3n * USD, tx_index: 0 },
    ],
  });
  chain.append({
    transactions: [mint(1, 20n * USD), burn(5n * USD)],
    effects: [
      created(20n * USD),
      { address: bytes(ALICE.address), kind: 'burn', delta: -5n * USD, tx_index: 1 },
    ],
  });
  chain.append();
  return chain.log.flatMap((event) => (event.type === 'BlockAppended' ? [event] : []));
}

export const HEALTHY = blocksOf();

/** Custody is 0.50 more than what is owed; the run is of the block before the last. */
const EXAMPLE: RecordedRun = Object(exampleOf(RECORDED_RUN));
export const RUN: RecordedRun = {
  ...EXAMPLE,
  block_height: 3,
  block_hash: toHex(HEALTHY[3]?.hash ?? Buffer.alloc(0)),
  onchain_supply: String(1_115n * USD),
  genesis_allocation: String(1_000n * USD),
  treasury_minted: String(120n * USD),
  burned: String(5n * USD),
  ledger_liability: String(115n * USD),
  held: String(8n * USD),
  minting: String(5n * USD),
  waiting: String(2n * USD),
  retained_fees: String(4n * USD),
  booked_surplus: '0',
  refunded: '0',
  custody_reported: String(127n * USD + USD / 2n),
  frozen: '0',
  uncovered: '0',
  surplus: String(USD / 2n),
  status: 'ok',
};
