/** The devnet's settings. Every problem is reported at once. */

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'];

type Environment = Readonly<Record<string, string | undefined>>;

export type DevnetConfig = Readonly<ReturnType<typeof readSettings>>;

export function readConfig(
  env: Environment,
): { readonly config: DevnetConfig } | { readonly problems: readonly string[] } {
  const problems: string[] = [];
  const config = readSettings(env, problems);
  return problems.length > 0 ? { problems } : { config };
}

/** Port 0 binds any free port. */
function readSettings(env: Environment, problems: string[]) {
  const integer = (name: string, absent: number, min: number, max: number): number => {
    const text = env[name] ?? String(absent);
    const value = /^[0-9]{1,16}$/.test(text) ? Number(text) : NaN;
    if (value >= min && value <= max) return value;
    problems.push(`${name} must be an integer from ${min} to ${max}`);
    return absent;
  };
  const text = (name: string): string => {
    const value = env[name] ?? '';
    if (value === '') problems.push(`${name} is missing`);
    return value;
  };
  const oneOf = (name: string, absent: string, values: readonly string[]): string => {
    const value = env[name] ?? absent;
    if (values.includes(value)) return value;
    problems.push(`${name} must be one of ${values.join(', ')}`);
    return absent;
  };
  return {
    http_host: env['APP_HTTP_HOST'] ?? '127.0.0.1',
    node_port: integer('APP_NODE_PORT', 17545, 0, 65_535),
    tron_port: integer('APP_TRON_PORT', 17090, 0, 65_535),
    admin_port: integer('APP_ADMIN_PORT', 17099, 0, 65_535),
    directory: text('APP_DEVNET_DIR'),
    seed: text('APP_DEVNET_SEED'),
    chain_id: integer('APP_CHAIN_ID', 7777, 1, Number.MAX_SAFE_INTEGER),
    is_testnet: oneOf('APP_NETWORK', 'testnet', ['testnet', 'mainnet']) === 'testnet',
    finality_depth: integer('APP_FINALITY_DEPTH', 12, 1, 1_000),
    block_interval_ms: integer('APP_BLOCK_INTERVAL_MS', 1_000, 20, 3_600_000),
    traffic_per_second: integer('APP_TRAFFIC_PER_SECOND', 3, 0, 500),
    tron_block_interval_ms: integer('APP_DEVNET_TRON_BLOCK_INTERVAL_MS', 1_000, 20, 3_600_000),
    /** the age at which the next block of TRON solidifies a block */
    tron_solidify_ms: integer('APP_DEVNET_TRON_SOLIDIFY_MS', 1_500, 0, 600_000),
    /** requests beyond it are refused as TronGrid refuses them; 0: no limit */
    tron_requests_per_second_max: integer('APP_DEVNET_TRON_RATE_PER_SECOND', 0, 0, 100_000),
    /** how long a client is refused after it exceeded the limit */
    tron_suspended_ms: integer('APP_DEVNET_TRON_SUSPENDED_MS', 30_000, 0, 600_000),
    /** required by TRON's provider; undefined: none */
    tron_api_key: env['APP_DEVNET_TRON_API_KEY'] || undefined,
    drain_ms: integer('APP_DRAIN_MS', 5_000, 0, 600_000),
    log_level: oneOf('APP_LOG_LEVEL', 'info', LOG_LEVELS),
  };
}
