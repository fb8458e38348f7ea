/**
 * A TRON node's routes: `/wallet` for the newest block, `/walletsolidity` for the newest solidified
 * one. Malformed input is answered 200 with an `Error`, as by a real node.
 */
import type { Request } from 'express';
import { toTronAddress } from '../../../schemas/tron-address.ts';
import {
  BLOCKED_FUNCTION,
  readBalancesCall,
  TOKEN_FUNCTIONS,
} from '../../../schemas/tron-balances.ts';
import { bodyFields, type Routes } from '../http/app.ts';
import { isIncluded, type BlockReference, type Included, type TronChain } from './chain.ts';
import type { Provider } from './provider.ts';
import { HARMLESS, tokenWords } from './token.ts';
import { addressDigits, wordOf, type TokenRules } from './transaction.ts';
import { blockJson, hexOf, receiptJson, transactionJson } from './wire.ts';

type Side = 'head' | 'solidified';
type Answer = (side: Side, request: Request) => object;

export function walletRoutes(chain: TronChain, provider: Provider): Routes {
  const { faults, now } = provider;

  /** The solidified head, or an older one during the fault `lag`. */
  const solidified = (): BlockReference => {
    const lag = faults.take('lag');
    return lag === undefined ? chain.solidified : chain.solidifiedAsOf(now() - lag.delay_ms);
  };

  const nowBlock: Answer = (side) =>
    blockJson(side === 'head' ? chain.head : solidified(), chain.genesis.holder);

  const found = (side: Side, id: string): Included | undefined => {
    const entry = chain.entry(id);
    if (entry === undefined || !isIncluded(entry)) return undefined;
    if (side === 'head') return entry;
    return entry.status === 'solidified' && entry.block.number <= solidified().number
      ? entry
      : undefined;
  };

  const ofTransaction =
    (json: (entry: Included) => object): Answer =>
    (side, request) => {
      const id = parameter(request, 'value');
      if (typeof id !== 'string' || !/^[0-9a-f]{64}$/i.test(id))
        return { Error: 'value must be a transaction id: 64 hex digits' };
      if (faults.take('empty') !== undefined) return {};
      const entry = found(side, id.toLowerCase());
      return entry === undefined ? {} : json(entry);
    };

  const constantContract: Answer = (side, request) => {
    const visible =
      parameter(request, 'visible') === true || parameter(request, 'visible') === 'true';
    const owner = addressOf(parameter(request, 'owner_address'), visible);
    const contract = addressOf(parameter(request, 'contract_address'), visible);
    const form = visible
      ? 'in base58, since visible is true'
      : 'in hex with its prefix 41, since visible is not true';
    if (owner === undefined)
      return failedCall('OTHER_ERROR', `owner_address must be an address ${form}`);
    if (parameter(request, 'contract_address') === undefined)
      return deployment(side, parameter(request, 'data'), visible);
    if (contract === undefined)
      return failedCall('OTHER_ERROR', `contract_address must be an address ${form}`);
    if (!chain.isContract(contract))
      return failedCall('CONTRACT_VALIDATE_ERROR', 'Smart contract is not exist.');
    const value = asked(side, contract, request);
    return calledConstant(value === undefined ? undefined : hexWord(value), visible);
  };

  /** Other tokens have no functions but those of TRC-20. */
  const rulesOf = (contract: string): TokenRules | undefined =>
    contract === chain.genesis.usdt_contract ? chain.token : undefined;

  /** The answer of the contract's function; undefined: it has none of this name. */
  const asked = (side: Side, contract: string, request: Request): bigint | undefined => {
    const name = parameter(request, 'function_selector');
    const account = accountOf(parameter(request, 'parameter'));
    if (name === 'balanceOf(address)' && account !== undefined)
      return chain.balance(contract, account, side);
    const rules = rulesOf(contract);
    if (rules === undefined) return undefined;
    if (name === BLOCKED_FUNCTION && account !== undefined)
      return BigInt(rules.blocked.includes(account));
    return tokenWords(rules)[TOKEN_FUNCTIONS.findIndex((each) => each === name)];
  };

  /** Simulates a deployment, of the one init code that the devnet knows. */
  const deployment = (side: Side, data: unknown, visible: boolean): object => {
    const isHex = typeof data === 'string' && /^(?:[0-9a-f]{2})+$/i.test(data);
    const call = isHex ? readBalancesCall(Buffer.from(data, 'hex')) : undefined;
    if (call === undefined)
      return failedCall('OTHER_ERROR', 'the devnet runs no other init code than that of balances');
    const token = call.token.toString('hex');
    if (!chain.isContract(token)) return calledConstant(undefined, visible);
    const rules = rulesOf(token) ?? HARMLESS;
    const words = call.addresses.flatMap((address) => {
      const account = address.toString('hex');
      return [chain.balance(token, account, side), BigInt(rules.blocked.includes(account))];
    });
    return calledConstant([...tokenWords(rules), ...words].map(hexWord).join(''), visible);
  };

  return (app) => {
    const both = (name: string, answer: Answer): void => {
      for (const method of ['get', 'post'] as const) {
        provider.route(app, method, `/wallet/${name}`, (request) => answer('head', request));
        provider.route(app, method, `/walletsolidity/${name}`, (request) =>
          answer('solidified', request),
        );
      }
    };
    both('getnowblock', nowBlock);
    both('gettransactioninfobyid', ofTransaction(receiptJson));
    both('gettransactionbyid', ofTransaction(transactionJson));
    both('triggerconstantcontract', constantContract);
  };
}

/** A parameter of the body, or of the query for a GET. */
function parameter(request: Request, name: string): unknown {
  return request.method === 'GET' ? request.query[name] : bodyFields(request.body)[name];
}

/** Base58 when `visible`, hex otherwise; other text is undefined. */
function addressOf(value: unknown, visible: boolean): string | undefined {
  if (typeof value !== 'string') return undefined;
  const digits = addressDigits(value);
  if (digits === undefined) return undefined;
  return (value === toTronAddress(Buffer.from(digits, 'hex'))) === visible ? digits : undefined;
}

/** The account in a parameter of one address; undefined for other text. */
function accountOf(word: unknown): string | undefined {
  return typeof word === 'string' && /^[0-9a-f]{64}$/i.test(word)
    ? word.slice(24).toLowerCase()
    : undefined;
}

function hexWord(value: bigint): string {
  return wordOf(value.toString(16));
}

/** The answer to a call with its result as hex; undefined: the call was reverted. */
function calledConstant(value: string | undefined, visible: boolean): object {
  return {
    result:
      value === undefined
        ? { result: true, message: hexOf('REVERT opcode executed') }
        : { result: true },
    energy_used: 935,
    constant_result: [value ?? ''],
    transaction: {
      ret: [value === undefined ? { ret: 'FAILED' } : {}],
      visible,
      txID: wordOf(''),
      raw_data: {},
      raw_data_hex: '',
    },
  };
}

function failedCall(code: string, message: string): object {
  return { result: { code, message: hexOf(message) } };
}
