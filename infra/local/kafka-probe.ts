import { createConnection } from 'node:net';

const METADATA = 3;
const VERSION = 4;

/** A Metadata request (version 4) for no topic. */
function metadataRequest(): Buffer {
  const client = 'probe';
  const body = Buffer.alloc(4 + 2 + 2 + 4 + 2 + client.length + 4 + 1);
  let at = body.writeInt32BE(body.length - 4, 0);
  at = body.writeInt16BE(METADATA, at);
  at = body.writeInt16BE(VERSION, at);
  at = body.writeInt32BE(1, at);
  at = body.writeInt16BE(client.length, at);
  at += body.write(client, at);
  at = body.writeInt32BE(0, at);
  body.writeInt8(0, at);
  return body;
}

/** The number of brokers that a Metadata answer (version 4) lists: after length, correlation id and throttle time. */
function brokersIn(answer: Buffer): number {
  return answer.readInt32BE(12);
}

/** How many brokers a Kafka server knows to be alive: at least 1 once it takes work. Rejects when it does not answer within `patience_ms`. */
export async function countBrokers(port: number, patience_ms = 1_000): Promise<number> {
  return await new Promise<number>((resolve, reject) => {
    const socket = createConnection({ port, host: '127.0.0.1', timeout: patience_ms });
    const pieces: Buffer[] = [];
    socket.once('connect', () => socket.write(metadataRequest()));
    socket.on('data', (piece: Buffer) => {
      pieces.push(piece);
      const answer = Buffer.concat(pieces);
      if (answer.length < 16) return;
      resolve(brokersIn(answer));
      socket.destroy();
    });
    socket.once('timeout', () => socket.destroy(new Error(`no answer within ${patience_ms} ms`)));
    socket.once('error', reject);
    socket.once('close', () => reject(new Error('the connection was closed')));
  });
}
