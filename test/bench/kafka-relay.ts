/**
 * `node kafka-relay.ts <port> <brokers>`: the minimal path of blocks from Kafka to sockets, a
 * consumer and ws. It forwards each value behind its height, without tables, lists or queries.
 */
import { createServer } from 'node:http';
import { Kafka, logLevel } from 'kafkajs';
import { WebSocketServer } from 'ws';
import { CHAIN_BLOCKS } from '../../schemas/topics.ts';

const [port, brokers = ''] = process.argv.slice(2);
const server = createServer((_request, response) => response.end('up'));
const sockets = new WebSocketServer({ server, perMessageDeflate: false });

const kafka = new Kafka({ clientId: 'relay', brokers: [brokers], logLevel: logLevel.NOTHING });
const consumer = kafka.consumer({ groupId: 'relay', minBytes: 1, maxWaitTimeInMs: 100 });
await consumer.connect();
await consumer.subscribe({ topic: CHAIN_BLOCKS.name, fromBeginning: false });
await consumer.run({
  eachMessage: ({ message: { key, value } }) => {
    const bytes = Buffer.concat([Buffer.from(`${key?.toString()} `), value ?? Buffer.alloc(0)]);
    for (const socket of sockets.clients) socket.send(bytes);
    return Promise.resolve();
  },
});
server.listen(Number(port), '127.0.0.1');
