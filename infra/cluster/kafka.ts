/** Three brokers, which are controllers too, with TLS, passwords and rights. */
import { kafkaAccounts, kafkaSettings } from '../kafka/settings.ts';
import type { Certificate } from './certificates.ts';

/** 16 bytes in base64. */
export const CLUSTER_ID = 'Y2x0LWxvY2FsLXN0YWNrMA';
export const REPLICATION = 3;
const IN_SYNC_MIN = 2;

/** The principal that may do everything. No service has its password. */
export const ADMINISTRATOR = 'admin';

export const nodeIds: readonly number[] = [1, 2, 3];

/** The common name of a broker's certificate, by which brokers and controllers know each other. */
export function brokerName(id: number): string {
  return `kafka-${id}`;
}

/** host:port of a node: for clients, for other brokers, for controllers. */
export interface NodeAddresses {
  readonly clients: string;
  readonly brokers: string;
  readonly controllers: string;
}

/** The settings of a node in server.properties; it listens where it is found, or elsewhere. */
export function clusterKafkaSettings(
  id: number,
  nodes: ReadonlyMap<number, NodeAddresses>,
  files: Certificate & { readonly authority: string; readonly data: string },
  listening?: NodeAddresses,
): Record<string, string> {
  const own = nodes.get(id);
  if (own === undefined) throw new Error(`the cluster has no node ${id}`);
  const { clients, brokers: others, controllers } = listening ?? own;
  const voters = [...nodes].map(([node, at]) => `${node}@${at.controllers}`);
  const replicated = {
    'offsets.topic.replication.factor': String(REPLICATION),
    'transaction.state.log.replication.factor': String(REPLICATION),
    'transaction.state.log.min.isr': String(IN_SYNC_MIN),
    'share.coordinator.state.topic.replication.factor': String(REPLICATION),
    'share.coordinator.state.topic.min.isr': String(IN_SYNC_MIN),
    'default.replication.factor': String(REPLICATION),
    'min.insync.replicas': String(IN_SYNC_MIN),
    // An acknowledged record is never given up for a leader that has not got it.
    'unclean.leader.election.enable': 'false',
    // So long a leader waits for a frozen controller before it asks the next one to take replicas
    // in sync. The default is 30 s, in which it acknowledges nothing.
    'controller.socket.timeout.ms': '5000',
  };
  return {
    ...kafkaSettings,
    ...replicated,
    'process.roles': 'broker,controller',
    'node.id': String(id),
    // A reader that names a rack is sent to the replica there.
    'broker.rack': String(id),
    'replica.selector.class': 'org.apache.kafka.common.replica.RackAwareReplicaSelector',
    'controller.quorum.voters': voters.join(','),
    'controller.listener.names': 'CONTROLLERS',
    'inter.broker.listener.name': 'BROKERS',
    'listener.security.protocol.map': 'CLIENTS:SASL_SSL,BROKERS:SSL,CONTROLLERS:SSL',
    listeners: `CLIENTS://${clients},BROKERS://${others},CONTROLLERS://${controllers}`,
    'advertised.listeners': `CLIENTS://${own.clients},BROKERS://${own.brokers}`,
    'log.dirs': files.data,
    'ssl.keystore.type': 'PEM',
    'ssl.keystore.location': files.keystore,
    'ssl.truststore.type': 'PEM',
    'ssl.truststore.location': files.authority,
    // Brokers and controllers know each other by certificate, clients by name and password.
    'listener.name.brokers.ssl.client.auth': 'required',
    'listener.name.controllers.ssl.client.auth': 'required',
    'ssl.principal.mapping.rules': 'RULE:^CN=([^,]+).*$/$1/',
    ...kafkaAccounts([...[...nodes.keys()].map(brokerName), ADMINISTRATOR]),
  };
}

/**
 * The arguments of `StorageTool` that make the first data of a node. Somebody without a certificate
 * who gives the other accounts their passwords needs that of the administrator from the beginning.
 */
export function formatArguments(properties: string, administrator_password?: string): string[] {
  const scram = `SCRAM-SHA-512=[name=${ADMINISTRATOR},password=${administrator_password}]`;
  return [
    'format',
    '-t',
    CLUSTER_ID,
    '-c',
    properties,
    ...(administrator_password === undefined ? [] : ['--add-scram', scram]),
  ];
}

/** server.properties as text. */
export function propertiesText(settings: Readonly<Record<string, string>>): string {
  // a backslash escapes in a properties file
  const lines = Object.entries(settings).map(
    ([name, value]) => `${name}=${value.replaceAll('\\', '\\\\')}\n`,
  );
  return lines.join('');
}
