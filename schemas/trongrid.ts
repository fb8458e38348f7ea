/**
 * TronGrid's HTTP answers. An answer with `Error` or `success: false`, or of another shape, is a
 * problem, never an empty result. A list only announces transactions; their receipts are the truth.
 * Addresses are parsed as 20 bytes, times are Unix milliseconds.
 */
import {
  count,
  field,
  isRecord,
  list,
  Mismatch,
  parsed,
  text,
  within,
  type Parsed,
} from './json-reader.ts';
import { parseTronAddress } from './tron-address.ts';
import { ADDRESS_WORDS, TOKEN_WORDS } from './tron-balances.ts';

/** keccak-256 of `Transfer(address,address,uint256)` */
const TRANSFER_TOPIC = 'ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';

export interface TronHead {
  readonly number: number;
  readonly timestamp: number;
}

/** A transaction that may concern the listed address. */
export interface ListedRow {
  readonly tx_id: Buffer;
  readonly block_timestamp: number;
  /** of the token, as the provider names it; undefined: it names none */
  readonly contract: Buffer | undefined;
}

export interface ListPage {
  /** by ascending block_timestamp */
  readonly rows: readonly ListedRow[];
  /** parameter of the next page; undefined on the last one */
  readonly fingerprint: string | undefined;
}

interface ReceiptLog {
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
  /** the position of each is its log index */
  readonly logs: readonly ReceiptLog[];
}

export interface TokenTransfer {
  readonly log_index: number;
  readonly from: Buffer;
  readonly to: Buffer;
  readonly value: bigint;
}

const WORD_DIGITS = 64;
const WORD = { pattern: /^[0-9a-f]{64}$/i, expected: '64 hex digits' };
const LOG_ADDRESS = { pattern: /^(?:41)?[0-9a-f]{40}$/i, expected: '40 hex digits' };
const BYTES = { pattern: /^(?:[0-9a-f]{2})*$/i, expected: 'hex' };

/** `walletsolidity/getnowblock` */
export function parseHead(json: unknown): Parsed<TronHead> {
  return parsedAnswer(json, (answer) =>
    within(answer, 'block_header', (header) =>
      within(header, 'raw_data', (raw) => ({
        number: count(raw, 'number'),
        timestamp: count(raw, 'timestamp'),
      })),
    ),
  );
}

/** `v1/accounts/:address/transactions/trc20`, ordered by `block_timestamp,asc`. */
export function parseList(json: unknown): Parsed<ListPage> {
  return parsedAnswer(json, (answer) => {
    if (field(answer, 'success') !== true) throw new Mismatch('success', 'true');
    const rows = list(answer, 'data', listedRow);
    if (
      rows.some(
        ({ block_timestamp: blockTimestamp }, index) =>
          blockTimestamp < (rows[index - 1]?.block_timestamp ?? 0),
      )
    )
      throw new Mismatch('data', 'ascending block_timestamp');
    const fingerprint = within(answer, 'meta', (meta) => field(meta, 'fingerprint'));
    if (fingerprint !== undefined && (typeof fingerprint !== 'string' || fingerprint === ''))
      throw new Mismatch('meta.fingerprint', 'text');
    return { rows, fingerprint };
  });
}

/** `walletsolidity/gettransactioninfobyid`; undefined for `{}`: not solidified, or unknown. */
export function parseReceipt(json: unknown): Parsed<TronReceipt | undefined> {
  return parsedAnswer(json, (answer) => {
    if (!isRecord(answer)) throw new Mismatch('the answer', 'an object');
    if (Object.keys(answer).length === 0) return undefined;
    const result = within(answer, 'receipt', (receipt) => field(receipt, 'result'));
    return {
      tx_id: Buffer.from(text(answer, 'id', WORD), 'hex'),
      block_number: count(answer, 'blockNumber'),
      block_timestamp: count(answer, 'blockTimeStamp'),
      succeeded: answer['result'] !== 'FAILED' && result === 'SUCCESS',
      logs: answer['log'] === undefined ? [] : list(answer, 'log', receiptLog),
    };
  });
}

/** The token at present, for everybody's money. */
export interface TokenState {
  /** nobody can move it */
  readonly paused: boolean;
  /** another contract has taken its place */
  readonly deprecated: boolean;
  /** taken of each transfer, in hundredths of a percent; 0: nothing is */
  readonly fee_basis_points: bigint;
  /** the most that is taken of one transfer, base units */
  readonly maximum_fee: bigint;
}

export interface TokenBalance {
  /** base units */
  readonly balance: bigint;
  /** the token lets nothing leave the address */
  readonly is_blocked: boolean;
}

/** `walletsolidity/triggerconstantcontract` of `balanceOf(address)`: base units. */
export function parseBalance(json: unknown): Parsed<bigint> {
  return parsedAnswer(json, (answer) => wordsIn(answer, 1)[0] ?? 0n);
}

/**
 * The answer about a function that the token may not have: a call that fails, or that answers no
 * word, is 0.
 */
export function parseOptionalWord(json: unknown): Parsed<bigint> {
  return parsedAnswer(json, (answer) => {
    if (hasFailed(answer)) return 0n;
    const words = resultIn(answer);
    return words.length === WORD_DIGITS ? BigInt(`0x${words}`) : 0n;
  });
}

/** The answer to `balancesCall`: the token, and so many addresses in their order. */
export function parseBalances(
  json: unknown,
  addresses: number,
): Parsed<{ readonly token: TokenState; readonly balances: readonly TokenBalance[] }> {
  return parsedAnswer(json, (answer) => {
    const words = wordsIn(answer, TOKEN_WORDS + addresses * ADDRESS_WORDS);
    return {
      token: tokenState(words),
      balances: Array.from({ length: addresses }, (_, at) => {
        const first = TOKEN_WORDS + at * ADDRESS_WORDS;
        return { balance: words[first] ?? 0n, is_blocked: words[first + 1] !== 0n };
      }),
    };
  });
}

/** The words are in the order of `TOKEN_FUNCTIONS`. */
export function tokenState(words: readonly bigint[]): TokenState {
  const [paused = 0n, deprecated = 0n, fee_basis_points = 0n, maximum_fee = 0n] = words;
  return { paused: paused !== 0n, deprecated: deprecated !== 0n, fee_basis_points, maximum_fee };
}

/** The words that a constant call has returned, so many. */
function wordsIn(answer: unknown, wanted: number): readonly bigint[] {
  if (hasFailed(answer)) throw new Mismatch('result', 'that of a call that did not fail');
  const words = resultIn(answer);
  if (words.length !== wanted * WORD_DIGITS)
    throw new Mismatch('constant_result', `${wanted} times 64 hex digits`);
  return Array.from({ length: wanted }, (_, at) =>
    BigInt(`0x${words.slice(at * WORD_DIGITS, (at + 1) * WORD_DIGITS)}`),
  );
}

/** The result of a constant call, as hex. */
function resultIn(answer: unknown): string {
  const [words, ...others] = list(answer, 'constant_result', (item) => item);
  if (typeof words !== 'string' || !BYTES.pattern.test(words) || others.length > 0)
    throw new Mismatch('constant_result', 'one text of hex');
  return words;
}

/** java-tron's name of a success has one C in some of its fields. */
const SUCCESSES: ReadonlySet<unknown> = new Set([undefined, 'SUCESS', 'SUCCESS', 'DEFAULT']);

/**
 * Whether the contract's code failed in a constant call. The node then answers all the same, with
 * whatever the code returned as the result: a message says why, or the simulated transaction does
 * (java-tron, `Wallet.callConstantContract`).
 */
function hasFailed(answer: unknown): boolean {
  const message = within(answer, 'result', (result) => {
    if (field(result, 'result') !== true) throw new Mismatch('result', 'true');
    if (!SUCCESSES.has(field(result, 'code'))) throw new Mismatch('code', 'none, or SUCCESS');
    return field(result, 'message');
  });
  const results = within(answer, 'transaction', (transaction) =>
    transaction === undefined || field(transaction, 'ret') === undefined
      ? []
      : list(transaction, 'ret', (item) => [field(item, 'ret'), field(item, 'contractRet')]),
  );
  const isSaid = message !== undefined && message !== '';
  return isSaid || results.flat().some((result) => !SUCCESSES.has(result));
}

/**
 * The transfers of this contract's token; none of a failed transaction. A problem: the contract
 * does not log as a TRC-20 token does.
 */
export function transfersIn(
  receipt: TronReceipt,
  contract: Buffer,
): Parsed<readonly TokenTransfer[]> {
  const { succeeded, logs } = receipt;
  return parsed(receipt, () =>
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
      `log[${index}]`,
      `3 topics and 32 bytes of data, not ${topics.length} and ${data.length / 2}`,
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
  if (digits === undefined) throw new Mismatch(`log[${index}].topics`, 'an address');
  return Buffer.from(digits, 'hex');
}

function listedRow(json: unknown): ListedRow {
  const info = field(json, 'token_info');
  const contract = isRecord(info) ? info['address'] : undefined;
  return {
    tx_id: Buffer.from(text(json, 'transaction_id', WORD), 'hex'),
    block_timestamp: count(json, 'block_timestamp'),
    contract: typeof contract === 'string' ? parseTronAddress(contract) : undefined,
  };
}

/** The wire format omits empty fields. */
function receiptLog(json: unknown): ReceiptLog {
  const contract = Buffer.from(text(json, 'address', LOG_ADDRESS).slice(-40), 'hex');
  const topics = field(json, 'topics') === undefined ? [] : list(json, 'topics', readTopic);
  const data = field(json, 'data') === undefined ? '' : text(json, 'data', BYTES);
  return { contract, topics, data: data.toLowerCase() };
}

function readTopic(value: unknown): string {
  if (typeof value !== 'string' || !WORD.pattern.test(value)) throw new Mismatch('', WORD.expected);
  return value.toLowerCase();
}

function parsedAnswer<T>(json: unknown, read: (json: unknown) => T): Parsed<T> {
  const refusal = refusalIn(json);
  return refusal === undefined ? parsed(json, read) : { problem: refusal };
}

const REFUSAL_CHARACTERS_MAX = 200;

/** The provider's own error text; undefined for an answer. */
function refusalIn(json: unknown): string | undefined {
  if (!isRecord(json)) return undefined;
  const failure = json['success'] === false ? (json['error'] ?? 'success is false') : undefined;
  const said = json['Error'] ?? failure;
  if (said === undefined) return undefined;
  const message = typeof said === 'string' ? said : JSON.stringify(said);
  return `it says: ${message.slice(0, REFUSAL_CHARACTERS_MAX)}`;
}
