import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Kafka, logLevel, type KafkaConfig } from 'kafkajs';
import { formatArguments, propertiesText } from '../../cluster/kafka.ts';
import { kafka_heap, kafkaPlace, kafkaSettings } from '../../kafka/settings.ts';
import type { Programs } from '../fetch/programs.ts';
import type { Command } from '../process/child.ts';
import { plainEnvironment, runOrFail } from '../process/run-program.ts';
import type { ServerSpec } from '../process/server.ts';
import type { Folder } from '../stack/folder.ts';

/** The settings of the local broker: the shared ones, and its ports and data on this machine. */
export function kafkaProperties(
  port: number,
  controller_port: number,
  data: string,
): Record<string, string> {
  const place = kafkaPlace({
    listeners: `PLAINTEXT://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controller_port}`,
    advertised_listeners: `PLAINTEXT://127.0.0.1:${port}`,
    protocols: 'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT',
    controller: `127.0.0.1:${controller_port}`,
    data,
  });
  return { ...kafkaSettings, ...place };
}

/** Whether Kafka on this port of 127.0.0.1 lists itself as a live broker, and so accepts work. */
export async function kafkaAnswers(
  port: number,
  security: Pick<KafkaConfig, 'ssl' | 'sasl'> = {},
): Promise<boolean> {
  const admin = new Kafka({
    brokers: [`127.0.0.1:${port}`],
    logLevel: logLevel.NOTHING,
    retry: { retries: 0 },
    requestTimeout: 1_000,
    ...security,
  }).admin();
  try {
    await admin.connect();
    return (await admin.describeCluster()).brokers.some((broker) => broker.port === port);
  } finally {
    await admin.disconnect();
  }
}

/** One process that is broker and controller. */
export interface KafkaNode {
  readonly name: string;
  /** The port of clients first. */
  readonly ports: ServerSpec['ports'];
  /** The server.properties of the node with this data folder. */
  readonly settings: (data: string) => Readonly<Record<string, string>>;
  readonly java_options: readonly string[];
  readonly isReady: () => Promise<boolean>;
  /** Runs after each start. */
  readonly settle?: () => Promise<void>;
}

export function kafkaServer(folder: Folder, programs: Programs, node: KafkaNode): ServerSpec {
  const data = join(folder.data, node.name);
  const properties = join(folder.data, `${node.name}.properties`);
  const writeProperties = (data_folder: string): void =>
    writeFileSync(properties, propertiesText(node.settings(data_folder)));
  const java = (options: readonly string[], ...main: readonly string[]): Command => ({
    file: programs.java,
    args: [
      ...options,
      ...programs.classArchive('kafka'),
      '-XX:-UsePerfData',
      '-XX:+ExitOnOutOfMemoryError',
      `-Djava.io.tmpdir=${folder.scratch}`,
      '-Dorg.slf4j.simpleLogger.showDateTime=true',
      '-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS',
      '-cp',
      programs.kafka_classpath,
      ...main,
    ],
    env: plainEnvironment(),
    cwd: folder.data,
  });
  return {
    name: node.name,
    ports: node.ports,
    async prepare(signal) {
      if (!existsSync(data)) {
        // The folder gets its name when it is complete, so a killed format leaves no half of one.
        const half = `${data}.half`;
        rmSync(half, { recursive: true, force: true });
        writeProperties(half);
        const format = formatArguments(properties);
        const options = ['-XX:TieredStopAtLevel=1'];
        const { file, args, ...own } = java(options, 'kafka.tools.StorageTool', ...format);
        await runOrFail(file, args, { ...own, signal });
        renameSync(half, data);
      }
      writeProperties(data);
      return java([kafka_heap, ...node.java_options], 'kafka.Kafka', properties);
    },
    isReady: node.isReady,
    ...(node.settle === undefined ? {} : { settle: node.settle }),
  };
}
