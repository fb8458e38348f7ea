/** The ports of the stack; all below 32768, where ephemeral ports begin. */
export const defaultPorts = {
  kafka: 19092,
  kafka_controller: 19093,
  registry: 18081,
  postgres: 15432,
  redis: 16379,
  node: 17545,
  tron: 17090,
  devnet: 17099,
  chain_ingester: 17011,
  projector_explorer: 17021,
  explorer: 17003,
  explorer_ops: 17033,
  deposit: 17001,
  deposit_ops: 17031,
  hub: 17002,
  hub_ops: 17032,
  treasury: 17004,
  projector_deposits: 17022,
  tron_watcher: 17012,
  projector_watch: 17023,
  projector_ride_market: 17024,
  projector_reserve: 17025,
  projector_series: 17026,
} as const;

export type PortName = keyof typeof defaultPorts;
export type Ports = Readonly<Record<PortName, number>>;

export const portNames: readonly PortName[] = Object.keys(defaultPorts).filter(
  (name): name is PortName => name in defaultPorts,
);

/** The environment variable that moves a port. */
export function portVariable(name: PortName): string {
  return `APP_${name.toUpperCase()}_PORT`;
}
