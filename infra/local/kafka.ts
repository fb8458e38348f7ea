import { randomBytes } from 'node:crypto';
import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { kafka_heap, kafkaPlace, kafkaSettings, kafka_version } from '../kafka/settings.ts';
import { plainEnvironment, runToEnd, type Command } from './child.ts';
import { archiveOption } from './class-archives.ts';
import type { Folder } from './folder.ts';
import { countBrokers } from './kafka-probe.ts';
import type { Programs } from './programs.ts';
import type { ServerSpec } from './server.ts';

/** A cluster id as Kafka writes them: 16 random bytes as 22 characters, none of which may lead with a dash. */
function clusterId(): string {
  const id = randomBytes(16).toString('base64url');
  return id.startsWith('-') ? clusterId() : id;
}

/** The settings of the local broker: those that every way of running it shares, and its place on this machine. */
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

function writeProperties(file: string, properties: Readonly<Record<string, string>>): void {
  const lines = Object.entries(properties).map(([name, value]) => `${name}=${value}\n`);
  writeFileSync(file, lines.join(''));
}

/** Kafka as one process, broker and controller. `java_options` besides those that every broker has. */
export function kafkaServer(
  folder: Folder,
  programs: Programs,
  port: number,
  controller_port: number,
  java_options: readonly string[] = [],
): ServerSpec {
  const data = join(folder.data, 'kafka');
  const properties = join(folder.data, 'kafka.properties');
  const java = (heap: readonly string[], main: string, args: readonly string[]): Command => ({
    file: programs.java,
    args: [
      ...heap,
      ...archiveOption(programs.class_archives, 'kafka'),
      '-XX:-UsePerfData',
      '-XX:+ExitOnOutOfMemoryError',
      `-Djava.io.tmpdir=${folder.scratch}`,
      '-Dorg.slf4j.simpleLogger.showDateTime=true',
      '-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS',
      '-cp',
      programs.kafka_classpath,
      main,
      ...args,
    ],
    env: plainEnvironment(),
    cwd: folder.data,
  });
  return {
    name: 'kafka',
    version: kafka_version,
    ports: [port, controller_port],
    stop_signal: 'SIGTERM',
    async prepare(signal) {
      if (!existsSync(data)) {
        // A folder half formatted is never taken for one: it gets its name when it is whole.
        const half = `${data}.half`;
        rmSync(half, { recursive: true, force: true });
        writeProperties(properties, kafkaProperties(port, controller_port, half));
        const args = ['format', '-t', clusterId(), '-c', properties];
        await runToEnd(
          'kafka-format',
          java(['-XX:TieredStopAtLevel=1'], 'kafka.tools.StorageTool', args),
          folder,
          signal,
        );
        renameSync(half, data);
      }
      writeProperties(properties, kafkaProperties(port, controller_port, data));
      return java([kafka_heap, ...java_options], 'kafka.Kafka', [properties]);
    },
    answers: async () => (await countBrokers(port)) > 0,
  };
}
