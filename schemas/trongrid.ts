/**
 * What TRON's provider says over HTTP, in TronGrid's wire format, and how it is read. An answer that says `Error` or `success: false`, or that is not of its shape, is
 * a problem and never "nothing found". Rows of a list are notifications; what happened stands in the receipt. Addresses are read as 20 bytes, times are Unix milliseconds.
 */
import { parseTronAddress } from './tron-address.ts';

export type Parsed<T> = { readonly value: T } | { readonly problem: string };

/** keccak-256 of `Transfer(address,address,uint256)` */
const TRANSFER_TOPIC = 'ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';

export interface TronHead {
  readonly number: number;
  readonly timestamp: number;
}

/** A transaction that may concern the address that was listed. */
export interface ListedRow {
  readonly tx_id: Buffer;
  readonly block_timestamp: number;
  /** of the token that the provider holds it to be; undefined: it does not say */
  readonly contract: Buffer | undefined;
}

export interface ListPage {
  /** by ascending block_timestamp */
  readonly rows: readonly ListedRow[];
  /** what the next page is asked for with; undefined on the last one */
  readonly fingerprint: string | undefined;
}

export interface ReceiptLog {
  readonly contract: Buffer;
  /** hex without 0x, lower case */
  readonly topics: readonly string[];
  readonly data: string;
}

/** A solidified transaction. */
export interface TronReceipt {
  readonly tx_id: Buffer;
  readonly block_number: number;
  readonly block_timestamp: number;
  readonly succeeded: boolean;
  /** in their order: the place of each is its log index */
  readonly logs: readonly ReceiptLog[];
}

export interface TokenTransfer {
  readonly log_index: number;
  readonly from: Buffer;
  readonly to: Buffer;
  readonly value: bigint;
}

/** `walletsolidity/getnowblock` */
export function parseHead(json: unknown): Parsed<TronHead> {
  return parsed(json, (answer) => {
    const raw = field(field(answer, 'block_header'), 'raw_data');
    return { number: integer(raw, 'number'), timestamp: integer(raw, 'timestamp') };
  });
}

/** `v1/accounts/:address/transactions/trc20`, ordered by `block_timestamp,asc`. */
export function parseList(json: unknown): Parsed<ListPage> {
  return parsed(json, (answer) => {
    if (field(answer, 'success') !== true) throw new Mismatch('success is not true');
    const rows = list(answer, 'data').map(row);
    if (rows.some(({ block_timestamp: at }, index) => at < (rows[index - 1]?.block_timestamp ?? 0)))
      throw new Mismatch('data is not in the order of block_timestamp');
    const meta = field(answer, 'meta');
    if (!isRecord(meta)) throw new Mismatch('meta is no object');
    const { fingerprint } = meta;
    if (fingerprint !== undefined && (typeof fingerprint !== 'string' || fingerprint === ''))
      throw new Mismatch('meta.fingerprint is no text');
    return { rows, fingerprint };
  });
}

/** `walletsolidity/gettransactioninfobyid`; undefined: `{}`, it is not solidified, or not known yet. */
export function parseReceipt(json: unknown): Parsed<TronReceipt | undefined> {
  return parsed(json, (answer) => {
    if (!isRecord(answer)) throw new Mismatch('the answer is no object');
    if (Object.keys(answer).length === 0) return undefined;
    const receipt = field(answer, 'receipt');
    return {
      tx_id: Buffer.from(hex(answer, 'id', 64), 'hex'),
      block_number: integer(answer, 'blockNumber'),
      block_timestamp: integer(answer, 'blockTimeStamp'),
      succeeded: answer['result'] !== 'FAILED' && field(receipt, 'result') === 'SUCCESS',
      logs: answer['log'] === undefined ? [] : list(answer, 'log').map(log),
    };
  });
}

/** `walletsolidity/triggerconstantcontract` of `balanceOf(address)`: base units. */
export function parseBalance(json: unknown): Parsed<bigint> {
  return parsed(json, (answer) => {
    if (field(field(answer, 'result'), 'result') !== true)
      throw new Mismatch('result.result is not true');
    const [word, ...others] = list(answer, 'constant_result');
    if (typeof word !== 'string' || !/^[0-9a-f]{64}$/i.test(word) || others.length > 0)
      throw new Mismatch('constant_result is not one word of 64 hex digits');
    return BigInt(`0x${word}`);
  });
}

/** What moved of the token of this contract, and of no other; nothing where the transaction failed. A problem: the contract does not log as a TRC-20 token does. */
export function transfersIn(
  receipt: TronReceipt,
  contract: Buffer,
): Parsed<readonly TokenTransfer[]> {
  return parsed(receipt, ({ succeeded, logs }) =>
    succeeded
      ? logs.flatMap((each, index) => (each.contract.equals(contract) ? transfer(each, index) : []))
      : [],
  );
}

function transfer({ topics, data }: ReceiptLog, index: number): readonly TokenTransfer[] {
  const [what, from, to, ...others] = topics;
  if (what !== TRANSFER_TOPIC) return [];
  if (from === undefined || to === undefined || others.length > 0 || data.length !== 64)
    throw new Mismatch(
      `log[${index}] is a Transfer with ${topics.length} topics and ${data.length / 2} bytes of data`,
    );
  return [
    {
      log_index: index,
      from: addressIn(from, index),
      to: addressIn(to, index),
      value: BigInt(`0x${data}`),
    },
  ];
}

function addressIn(topic: string, index: number): Buffer {
  const digits = /^0{24}([0-9a-f]{40})$/.exec(topic)?.[1];
  if (digits === undefined) throw new Mismatch(`log[${index}] has a topic that is no address`);
  return Buffer.from(digits, 'hex');
}

function row(json: unknown, index: number): ListedRow {
  const path = `data[${index}]`;
  const info = field(json, 'token_info', path);
  const contract = isRecord(info) ? info['address'] : undefined;
  return {
    tx_id: Buffer.from(hex(json, 'transaction_id', 64, path), 'hex'),
    block_timestamp: integer(json, 'block_timestamp', path),
    contract: typeof contract === 'string' ? parseTronAddress(contract) : undefined,
  };
}

/** Empty fields are left out on the wire. */
function log(json: unknown, index: number): ReceiptLog {
  const path = `log[${index}]`;
  if (!isRecord(json)) throw new Mismatch(`${path} is no object`);
  const address =
    typeof json['address'] === 'string'
      ? /^(?:41)?([0-9a-f]{40})$/i.exec(json['address'])?.[1]
      : undefined;
  if (address === undefined) throw new Mismatch(`${path}.address is not 40 hex digits`);
  const topics = (json['topics'] === undefined ? [] : list(json, 'topics')).map((topic) => {
    if (typeof topic !== 'string' || !/^[0-9a-f]{64}$/i.test(topic))
      throw new Mismatch(`${path}.topics are not 64 hex digits each`);
    return topic.toLowerCase();
  });
  const data = json['data'] ?? '';
  if (typeof data !== 'string' || !/^(?:[0-9a-f]{2})*$/i.test(data))
    throw new Mismatch(`${path}.data is not hex`);
  return { contract: Buffer.from(address, 'hex'), topics, data: data.toLowerCase() };
}

/** Where the answer is not what it should be. Never leaves this file. */
class Mismatch extends Error {}

function parsed<From, T>(from: From, read: (from: From) => T): Parsed<T> {
  const said = refusalIn(from);
  if (said !== undefined) return { problem: said };
  try {
    return { value: read(from) };
  } catch (error) {
    if (error instanceof Mismatch) return { problem: error.message };
    throw error;
  }
}

const SAID_MAX = 200;

/** What the provider says instead of an answer. */
function refusalIn(json: unknown): string | undefined {
  if (!isRecord(json)) return undefined;
  const said =
    json['Error'] ??
    (json['success'] === false ? (json['error'] ?? 'success is false') : undefined);
  return said === undefined
    ? undefined
    : `it says: ${(typeof said === 'string' ? said : JSON.stringify(said)).slice(0, SAID_MAX)}`;
}

function isRecord(json: unknown): json is Readonly<Record<string, unknown>> {
  return typeof json === 'object' && json !== null && !Array.isArray(json);
}

function field(json: unknown, key: string, path = 'the answer'): unknown {
  if (!isRecord(json)) throw new Mismatch(`${path} is no object with ${key}`);
  return json[key];
}

function list(json: unknown, key: string): readonly unknown[] {
  const items = field(json, key);
  if (!Array.isArray(items)) throw new Mismatch(`${key} is no list`);
  return items;
}

function integer(json: unknown, key: string, path?: string): number {
  const value = field(json, key, path);
  // Avro's JavaScript encoder takes nothing larger
  if (
    typeof value !== 'number' ||
    !Number.isSafeInteger(value) ||
    value < 0 ||
    value === Number.MAX_SAFE_INTEGER
  )
    throw new Mismatch(
      `${path === undefined ? '' : `${path}.`}${key} is no integer from 0 to 2^53 - 2`,
    );
  return value;
}

function hex(json: unknown, key: string, digits: number, path?: string): string {
  const value = field(json, key, path);
  if (typeof value !== 'string' || value.length !== digits || !/^[0-9a-f]+$/i.test(value))
    throw new Mismatch(`${path === undefined ? '' : `${path}.`}${key} is not ${digits} hex digits`);
  return value.toLowerCase();
}
