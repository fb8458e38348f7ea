import { bytesKey, parseAddress, toHex } from '../../schemas/address.ts';
import {
  limitsOf,
  NETWORK_LIMITS,
  NETWORKS,
  type PolicyLimits,
} from '../../schemas/deposit-policy.ts';
import {
  DEVELOPMENT_CUSTODY,
  DEVELOPMENT_MINT_AUTHORITY,
  DEVELOPMENT_OPERATOR,
} from '../../schemas/development.ts';
import { toTronAddress } from '../../schemas/tron-address.ts';

import {
  choice,
  ConfigError,
  httpUrl,
  integer,
  isSet,
  readConfig,
  SERVICE_SETTINGS,
  type Config,
  type Environment,
  type Setting,
} from '../runtime/process/config.ts';
import { KAFKA_SETTINGS, REGISTRY_SETTINGS } from '../runtime/process/kafka-settings.ts';
import { depositKeyProblems, DEPOSIT_KEY } from '../runtime/process/deposit-key.ts';
import { mainnetProblems } from '../runtime/trongrid/settings.ts';
import { authorityOf, parseMintKey } from './minting/mint-signer.ts';
import {
  DUST,
  microUsd,
  RECONCILIATION_SETTINGS,
  reconciliationProblems,
} from './reconciliation/settings.ts';

/** The variable of each limit, in micro-USD; the network's limit is the default. */
const VARIABLES: Readonly<Record<keyof PolicyLimits, string>> = {
  first_fee: 'APP_FIRST_FEE',
  later_fee: 'APP_LATER_FEE',
  minimum: 'APP_MINIMUM',
  single_cap: 'APP_SINGLE_CAP',
  rolling_cap: 'APP_ROLLING_CAP',
};

const REPLICATION_MIN = KAFKA_SETTINGS.kafka_replication_min.name;

/** 20 bytes each. */
const OPERATORS: Setting<readonly Buffer[]> = {
  name: 'APP_OPERATORS',
  expected: "addresses of the operators' keys, 0x and 40 hex digits, separated by commas",
  secret: false,
  fallback: [],
  read(given) {
    const addresses = given.split(',').map((each) => parseAddress(each.trim()));
    return addresses.every((each) => each !== undefined) ? addresses : undefined;
  },
};

export const SETTINGS = {
  ...SERVICE_SETTINGS,
  ...KAFKA_SETTINGS,
  ...REGISTRY_SETTINGS,
  kafka_session_ms: integer('APP_KAFKA_SESSION_MS', { default: 6_000, min: 1_000, max: 300_000 }),
  network: choice('APP_NETWORK', NETWORKS),
  ...RECONCILIATION_SETTINGS,
  first_fee: microUsd(VARIABLES.first_fee, undefined),
  later_fee: microUsd(VARIABLES.later_fee, undefined),
  minimum: microUsd(VARIABLES.minimum, undefined),
  single_cap: microUsd(VARIABLES.single_cap, undefined),
  rolling_cap: microUsd(VARIABLES.rolling_cap, undefined),
  /** addresses of the operators' keys, whose signed decisions count; empty: any unsigned ones do */
  operators: OPERATORS,
  /** micro-USD: a credit above it, and what loosens, needs two operators; 0: nothing does */
  two_operators_above: microUsd('APP_TWO_OPERATORS_ABOVE', 0n),
  ...DUST,
  node_url: httpUrl('APP_NODE_URL'),
  /** empty: one node is believed */
  second_node_url: { ...httpUrl('APP_SECOND_NODE_URL'), fallback: '' },
  chain_id: integer('APP_CHAIN_ID', { min: 1, max: Number.MAX_SAFE_INTEGER }),
  mint_key: mintKey('APP_MINT_KEY'),
  mint_every_ms: integer('APP_MINT_EVERY_MS', { default: 1_000, min: 10, max: 600_000 }),
  mint_again_ms: integer('APP_MINT_AGAIN_MS', { default: 5_000, min: 10, max: 600_000 }),
  /** a clock further from the newest final block's time requests no mints; 0: no limit */
  clock_apart_max_ms: integer('APP_CLOCK_APART_MAX_MS', {
    default: 3_600_000,
    min: 0,
    max: 2_592_000_000,
  }),
  mint_late_ms: integer('APP_MINT_LATE_MS', { default: 600_000, min: 100, max: 2_592_000_000 }),
  /** bytes of records after which what they came to is kept for the next start, at least */
  snapshot_bytes_min: integer('APP_SNAPSHOT_BYTES_MIN', {
    default: 16_777_216,
    min: 1,
    max: Number.MAX_SAFE_INTEGER,
  }),
  /** from which every deposit address is derived */
  deposit_key: DEPOSIT_KEY,
} as const;

export interface TreasuryConfig extends Omit<Config<typeof SETTINGS>, keyof PolicyLimits> {
  readonly limits: PolicyLimits;
}

/** The default, 1, would let records of money be on one disk only, without a word. */
function replicationProblems(env: Environment): readonly string[] {
  return isSet(env, REPLICATION_MIN)
    ? []
    : [
        `${REPLICATION_MIN} is not set: on the mainnet it has to be set to the least number of replicas of each topic, 3 for a cluster of three brokers; 1 says that every record of money may be on one disk only`,
      ];
}

export function readTreasuryConfig(env: Environment): TreasuryConfig {
  const { first_fee, later_fee, minimum, single_cap, rolling_cap, ...config } = readConfig(
    env,
    SETTINGS,
  );
  const network = NETWORK_LIMITS[config.network];
  const read = limitsOf(config.network, {
    first_fee: first_fee ?? network.first_fee,
    later_fee: later_fee ?? network.later_fee,
    minimum: minimum ?? network.minimum,
    single_cap: single_cap ?? network.single_cap,
    rolling_cap: rolling_cap ?? network.rolling_cap,
  });
  const problems = [
    ...('problems' in read ? read.problems.map(withVariables) : []),
    ...reconciliationProblems(config),
    ...(config.second_node_url === config.node_url
      ? [
          'APP_SECOND_NODE_URL is APP_NODE_URL: one node cannot confirm itself; set it to another node, or to nothing',
        ]
      : []),
    ...operatorProblems(config),
    ...(config.network === 'mainnet'
      ? [
          ...wellKnown(config),
          ...depositKeyProblems(config.deposit_key),
          ...replicationProblems(env),
        ]
      : []),
  ];
  if ('problems' in read || problems.length > 0) throw new ConfigError(problems);
  return { ...config, limits: read.limits };
}

/** The ledger would take no such operators and custody. */
function operatorProblems({
  operators,
  two_operators_above: twoOperatorsAbove,
  custody_addresses: custodyAddresses,
}: Pick<
  Config<typeof SETTINGS>,
  'operators' | 'two_operators_above' | 'custody_addresses'
>): readonly string[] {
  const problems: string[] = [];
  for (const [variable, addresses] of [
    ['APP_OPERATORS', operators],
    ['APP_CUSTODY_ADDRESSES', custodyAddresses],
  ] as const)
    if (new Set(addresses.map(bytesKey)).size < addresses.length)
      problems.push(`${variable} has an address twice: name each once`);
  if (twoOperatorsAbove > 0n && operators.length < 2)
    problems.push(
      `APP_TWO_OPERATORS_ABOVE is ${twoOperatorsAbove} and APP_OPERATORS has ${operators.length} addresses: name at least two operators, or set 0`,
    );
  return problems;
}

function withVariables(problem: string): string {
  return Object.entries(VARIABLES).reduce(
    (text, [limit, variable]) => text.replaceAll(limit, variable),
    problem,
  );
}

/** On the mainnet, well-known keys, a worthless token and an open connection are refused. */
function wellKnown({
  mint_key,
  custody_addresses,
  operators,
  ...provider
}: Pick<
  Config<typeof SETTINGS>,
  'mint_key' | 'custody_addresses' | 'operators' | 'usdt_contract' | 'tron_url'
>): readonly string[] {
  const problems: string[] = [];
  if (operators.length === 0)
    problems.push(
      "APP_OPERATORS is not set: on the mainnet it has to be set to the addresses of the operators' keys (`ops operators new-key` makes one), and only their signed decisions count",
    );
  if (operators.some((address) => toHex(address) === DEVELOPMENT_OPERATOR))
    problems.push(
      `APP_OPERATORS has ${DEVELOPMENT_OPERATOR}, whose private key everybody knows: on the mainnet it has to be set to the addresses of keys that only the operators have`,
    );
  if (toHex(authorityOf(mint_key)) === DEVELOPMENT_MINT_AUTHORITY)
    problems.push(
      'APP_MINT_KEY is the key of the devnet, which everybody knows: on the mainnet it has to be set to the private key of the mint authority, which nobody else has',
    );
  if (custody_addresses.some((address) => toTronAddress(address) === DEVELOPMENT_CUSTODY))
    problems.push(
      `APP_CUSTODY_ADDRESSES has ${DEVELOPMENT_CUSTODY}, whose private key everybody knows: on the mainnet it has to be set to the addresses where the swept USDT lies`,
    );
  return [...problems, ...mainnetProblems(provider)];
}

function mintKey(name: string): Setting<string> {
  return {
    name,
    expected: 'the private key of the mint authority, 64 hex digits',
    secret: true,
    read: parseMintKey,
  };
}
