/** Three brokers on this machine without any security, to compare with those of a cluster. */
import { removeSystem } from './kept-logs.ts';
import { kafkaSettings } from '../../infra/kafka/settings.ts';
import { Server } from '../../infra/local/process/server.ts';
import { kafkaAnswers, kafkaServer } from '../../infra/local/servers/kafka.ts';
import { defaultPorts } from '../../infra/services/ports.ts';
import { takePort } from './free-ports.ts';
import { end, KAFKA_JAVA, killAtExit, makeFolder, programsFor, serverHandle } from './stack.ts';

const IDS = [1, 2, 3] as const;
const HOST = '127.0.0.1';

export interface PlainBrokers {
  /** host:port */
  readonly brokers: readonly string[];
  /** the folder of their data */
  readonly data: string;
  stop(): Promise<void>;
}

export async function startPlainBrokers(): Promise<PlainBrokers> {
  const folder = makeFolder();
  const forget = killAtExit(folder);
  const taken = await Promise.all(
    IDS.map(async (id) => ({ id, clients: await takePort(), controller: await takePort() })),
  );
  const [first] = taken;
  if (first === undefined) throw new Error('there are no brokers');
  const programs = await programsFor(folder, { ...defaultPorts, kafka: first.clients.port });
  const voters = taken.map(({ id, controller }) => `${id}@${HOST}:${controller.port}`).join(',');
  const servers = taken.map(({ id, clients, controller }) => {
    const settings = (data: string): Record<string, string> => ({
      ...kafkaSettings,
      'offsets.topic.replication.factor': String(IDS.length),
      'process.roles': 'broker,controller',
      'node.id': String(id),
      'controller.quorum.voters': voters,
      'controller.listener.names': 'CONTROLLERS',
      'inter.broker.listener.name': 'PLAIN',
      'listener.security.protocol.map': 'PLAIN:PLAINTEXT,CONTROLLERS:PLAINTEXT',
      listeners: `PLAIN://${HOST}:${clients.port},CONTROLLERS://${HOST}:${controller.port}`,
      'advertised.listeners': `PLAIN://${HOST}:${clients.port}`,
      'log.dirs': data,
    });
    const spec = kafkaServer(folder, programs, {
      name: `kafka-${id}`,
      ports: [clients.port, controller.port],
      settings,
      java_options: KAFKA_JAVA,
      isReady: () => kafkaAnswers(clients.port),
    });
    return new Server(spec, folder);
  });
  const stop = async (): Promise<void> => {
    await Promise.all(servers.map((server) => end(serverHandle(server))));
    forget();
    for (const { clients, controller } of taken)
      for (const { release } of [clients, controller]) release();
    removeSystem(folder);
  };
  try {
    await Promise.all(servers.map((server) => server.start()));
  } catch (error) {
    await stop();
    throw error;
  }
  const brokers = taken.map(({ clients }) => `${HOST}:${clients.port}`);
  return { brokers, data: folder.data, stop };
}
