/** The JSON of TronGrid and of a TRON node. Hex has no 0x; a log's address also has no 41. */
import { toTronAddress } from '../../../schemas/tron-address.ts';
import type { BlockReference, Included } from './chain.ts';
import type { ListedRow } from './listing.ts';
import { TOPICS, emittedLogs, wordOf, type TokenLog, type TronTransaction } from './transaction.ts';

/** Energy, bandwidth and fees of a typical transfer; the devnet charges none. */
const ENERGY_USED = 64_285;
const FEE_SUN = 6_773_500;
const NET_USED = 345;

const RESULT_MESSAGES = {
  REVERT: 'REVERT opcode executed',
  OUT_OF_ENERGY:
    "Not enough energy for 'SSTORE' operation executing: curInvokeEnergyLimit[64285], curOpEnergy[20000], usedEnergy[50164]",
} as const;

/** Base58check of 40 digits. */
export function base58Of(digits: string): string {
  return toTronAddress(Buffer.from(digits, 'hex'));
}

/** A row of an account's list. Counterfeit contracts use the same token name. */
export function rowJson(row: ListedRow): object {
  return {
    transaction_id: row.transaction_id,
    token_info: {
      symbol: 'USDT',
      address: base58Of(row.contract),
      decimals: 6,
      name: 'Tether USD',
    },
    block_timestamp: row.block_timestamp,
    from: base58Of(row.from),
    to: base58Of(row.to),
    type: row.event,
    value: String(row.value),
  };
}

export function blockJson(block: BlockReference, witness: string): object {
  const header = {
    number: block.number,
    txTrieRoot: '0'.repeat(64),
    witness_address: `41${witness}`,
    parentHash: block.parent_id,
    version: 31,
    timestamp: block.timestamp,
  };
  return {
    blockID: block.id,
    block_header: { raw_data: header, witness_signature: '0'.repeat(130) },
  };
}

/** The receipt of an included transaction. */
export function receiptJson({ transaction, block }: Included): object {
  const base = { id: transaction.id, blockNumber: block.number, blockTimeStamp: block.timestamp };
  if (transaction.asset !== 'TRC20')
    return { ...base, contractResult: [''], receipt: { net_usage: NET_USED } };
  const { contract, outcome } = transaction;
  const receipt = {
    energy_fee: FEE_SUN,
    energy_usage_total: ENERGY_USED,
    net_usage: NET_USED,
    result: outcome,
  };
  const called = { ...base, fee: FEE_SUN, contract_address: `41${contract}`, receipt };
  if (outcome !== 'SUCCESS')
    return {
      ...called,
      contractResult: [''],
      result: 'FAILED',
      resMessage: hexOf(RESULT_MESSAGES[outcome]),
    };
  const logs = emittedLogs(transaction).map(logJson);
  return { ...called, contractResult: [wordOf('')], ...(logs.length > 0 ? { log: logs } : {}) };
}

function logJson({ contract, event, from, to, value }: TokenLog): object {
  return {
    address: contract,
    topics: [TOPICS[event], wordOf(from), wordOf(to)],
    data: wordOf(value.toString(16)),
  };
}

/** The transaction without protobuf encoding and signature: the devnet's are unsigned. */
export function transactionJson({ transaction, block }: Included): object {
  const { type, value } = contractOf(transaction);
  const contract = { parameter: { value, type_url: `type.googleapis.com/protocol.${type}` }, type };
  return {
    ret: [{ contractRet: transaction.asset === 'TRC20' ? transaction.outcome : 'SUCCESS' }],
    txID: transaction.id,
    raw_data: {
      contract: [contract],
      timestamp: block.timestamp,
      expiration: block.timestamp + 60_000,
    },
  };
}

function contractOf(transaction: TronTransaction): { type: string; value: object } {
  const owner_address = `41${transaction.from}`;
  if (transaction.asset === 'TRC20') {
    const value = {
      data: transaction.calldata,
      owner_address,
      contract_address: `41${transaction.contract}`,
    };
    return { type: 'TriggerSmartContract', value };
  }
  const value = {
    amount: Number(transaction.value),
    owner_address,
    to_address: `41${transaction.to}`,
  };
  return transaction.asset === 'TRX'
    ? { type: 'TransferContract', value }
    : { type: 'TransferAssetContract', value: { ...value, asset_name: hexOf('1000001') } };
}

export function hexOf(text: string): string {
  return Buffer.from(text, 'utf8').toString('hex');
}
