/** Makes topics, rights and passwords of docker-compose.cluster.yml, as the administrator. */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { settleKafka } from '../kafka/settle.ts';
import { layoutOf } from '../kafka/topics.ts';

const {
  APP_KAFKA_BROKERS: brokers = '',
  APP_KAFKA_TLS_CA: authority = '',
  APP_KAFKA_USERNAME: username = '',
  APP_KAFKA_PASSWORD: password = '',
} = process.env;

const users = readFileSync(join(dirname(authority), 'users.json'), 'utf8');
await settleKafka(
  {
    brokers: brokers.split(','),
    ssl: { ca: readFileSync(authority, 'utf8') },
    sasl: { mechanism: 'scram-sha-512', username, password },
  },
  layoutOf(process.env),
  JSON.parse(users),
);
