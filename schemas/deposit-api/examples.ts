/** Examples in the document: one deposit of 10 USDT on the testnet, told consistently. */

export const ID = '0c5b1e0a-6f5d-8a53-9d0f-3b1f6f0f2c11';
const ACCOUNT = '0x7e5f4552091a69125d5dfcb7b8c2659029395bdf';
const TRON_TX = '9a8b7c6d5e4f30211203f4e5d6c7b8a99a8b7c6d5e4f30211203f4e5d6c7b8a9';
const MINT_TX = '0xc3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4';
const SEEN = '2026-11-21T07:28:03.000Z';

export const ADDRESS = { address: 'TWer2Ygk5TEheHp3TPuYeqxmB6SsGZmaL6' } as const;

export const LIST = {
  deposits: [
    { id: ID, status: 'credited', amount_usdt: 10_000_000, tron_tx_id: TRON_TX, created_at: SEEN },
  ],
} as const;

export const DETAIL = {
  id: ID,
  clt_address: ACCOUNT,
  amount_usdt: 10_000_000,
  pay_amount_usdt: 10_000_000,
  status: 'credited',
  invoice_id: '5d1c3b2a-7e6f-8b14-a2c3-d4e5f6071829',
  expires_at: null,
} as const;

const NOTHING = {
  reason: null,
  gross: null,
  fee: null,
  credit: null,
  chain: null,
  tx_hash: null,
  block_height: null,
  nonce: null,
} as const;
const MINT = { ...NOTHING, chain: 'clt', tx_hash: MINT_TX } as const;

export const TIMELINE = {
  deposit_id: ID,
  status: 'credited',
  reason: null,
  waiting_for: null,
  gross: 10_000_000,
  fee: 2_000_000,
  credit: 8_000_000,
  events: [
    {
      ...NOTHING,
      event: 'TransferObserved',
      at: SEEN,
      gross: 10_000_000,
      chain: 'tron',
      tx_hash: TRON_TX,
      block_height: 70_000_000,
      topic: 'tron.transfers',
      partition: 3,
      offset: 41,
    },
    {
      ...NOTHING,
      event: 'DepositConfirmed',
      at: '2026-11-21T07:29:10.120Z',
      gross: 10_000_000,
      fee: 2_000_000,
      credit: 8_000_000,
      topic: 'treasury.ledger',
      partition: 0,
      offset: 7,
    },
    {
      ...MINT,
      event: 'MintIntended',
      at: '2026-11-21T07:29:10.400Z',
      fee: 2_000_000,
      credit: 8_000_000,
      nonce: 5,
      topic: 'treasury.ledger',
      partition: 0,
      offset: 8,
    },
    {
      ...MINT,
      event: 'MintCredited',
      at: '2026-11-21T07:29:14.900Z',
      block_height: 1200,
      topic: 'treasury.ledger',
      partition: 0,
      offset: 9,
    },
  ],
} as const;
