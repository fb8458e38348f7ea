import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Kafka, logLevel } from 'kafkajs';
import { kafka_heap, kafkaPlace, kafkaSettings } from '../../kafka/settings.ts';
import type { Programs } from '../fetch/programs.ts';
import { plainEnvironment, type Command } from '../process/child.ts';
import { runOrFail } from '../process/run-program.ts';
import type { ServerSpec } from '../process/server.ts';
import type { Folder } from '../stack/folder.ts';

/** 16 bytes in base64; a cluster of one broker needs no name of its own. */
const CLUSTER_ID = 'Y2x0LWxvY2FsLXN0YWNrMA';

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

/** Whether Kafka on this port of 127.0.0.1 lists a live broker, and so accepts work. */
export async function kafkaAnswers(port: number): Promise<boolean> {
  const admin = new Kafka({
    brokers: [`127.0.0.1:${port}`],
    logLevel: logLevel.NOTHING,
    retry: { retries: 0 },
    requestTimeout: 1_000,
  }).admin();
  try {
    await admin.connect();
    return (await admin.describeCluster()).brokers.length > 0;
  } finally {
    await admin.disconnect();
  }
}

/** Kafka as one process, which is broker and controller. */
export function kafkaServer(
  folder: Folder,
  programs: Programs,
  port: number,
  controller_port: number,
  java_options: readonly string[],
): ServerSpec {
  const data = join(folder.data, 'kafka');
  const properties = join(folder.data, 'kafka.properties');
  const writeProperties = (data_folder: string): void => {
    const entries = Object.entries(kafkaProperties(port, controller_port, data_folder));
    writeFileSync(properties, entries.map(([name, value]) => `${name}=${value}\n`).join(''));
  };
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
    name: 'kafka',
    ports: [port, controller_port],
    async prepare(signal) {
      if (!existsSync(data)) {
        // The folder gets its name when it is complete, so a killed format leaves no half of one.
        const half = `${data}.half`;
        rmSync(half, { recursive: true, force: true });
        writeProperties(half);
        const format = ['format', '-t', CLUSTER_ID, '-c', properties];
        const options = ['-XX:TieredStopAtLevel=1'];
        const { file, args, ...own } = java(options, 'kafka.tools.StorageTool', ...format);
        await runOrFail(file, args, { ...own, signal });
        renameSync(half, data);
      }
      writeProperties(data);
      return java([kafka_heap, ...java_options], 'kafka.Kafka', properties);
    },
    isReady: () => kafkaAnswers(port),
  };
}
