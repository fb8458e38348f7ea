/**
 * A broker that knows clients on one port by their certificate (mutual TLS), and on another by a
 * token (SASL OAUTHBEARER over TLS) whose signature it checks. Both ways give the same principals,
 * with the rights of the services. The endpoint that gives tokens is part of it.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { exportJWK, generateKeyPair, SignJWT, type CryptoKey } from 'jose';
import {
  authorityFile,
  certificateFiles,
  makeCertificates,
  type Certificate,
} from '../../infra/cluster/certificates.ts';
import { kafkaPlace, kafkaSettings } from '../../infra/kafka/settings.ts';
import { settleKafka } from '../../infra/kafka/settle.ts';
import { Server } from '../../infra/local/process/server.ts';
import { kafkaAnswers, kafkaServer } from '../../infra/local/servers/kafka.ts';
import { defaultPorts } from '../../infra/services/ports.ts';
import { removeSystem } from './kept-logs.ts';
import { takePort } from './free-ports.ts';
import { end, KAFKA_JAVA, killAtExit, makeFolder, programsFor, serverHandle } from './stack.ts';

const HOST = '127.0.0.1';
const BROKER = 'broker';
const ADMINISTRATOR = 'admin';
const AUDIENCE = 'kafka';
const VALIDATOR =
  'org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler';

export interface SecuredBroker {
  /** host:port of the listener */
  readonly with_certificate: string;
  readonly with_token: string;
  readonly authority: string;
  /** of this service's name */
  readonly certificateOf: (name: string) => Certificate;
  readonly tokens: TokenEndpoint;
  stop(): Promise<void>;
}

/** RFC 6749, section 4.4, for every name with the password `PASSWORD`. */
export interface TokenEndpoint {
  readonly url: string;
  /** how many tokens it gave */
  given: number;
  /** how long a token lives, s */
  life_s: number;
  /** sign with a key that the broker does not know */
  forge: boolean;
}

export const PASSWORD = 'a password: 100%';

/** `names`: services that have a certificate. */
export async function startSecuredBroker(names: readonly string[]): Promise<SecuredBroker> {
  const folder = makeFolder();
  const forget = killAtExit(folder);
  const [certified, tokened, controller] = [await takePort(), await takePort(), await takePort()];
  const certificates = join(folder.root, 'certificates');
  await makeCertificates(certificates, [BROKER, ADMINISTRATOR, ...names], () => [HOST], new Date());
  const certificateOf = (name: string): Certificate => certificateFiles(certificates, name);
  const authority = authorityFile(certificates);
  const { privateKey, publicKey } = await generateKeyPair('RS256');
  const { privateKey: forgedKey } = await generateKeyPair('RS256');
  const keys = join(folder.root, 'keys.json');
  const jwk = { ...(await exportJWK(publicKey)), kid: 'one', alg: 'RS256', use: 'sig' };
  writeFileSync(keys, JSON.stringify({ keys: [jwk] }));
  const keysUrl = pathToFileURL(keys).href;
  const { server: http, tokens } = await openTokens(privateKey, forgedKey);

  const controllers = `CONTROLLERS://${HOST}:${controller.port}`;
  const clients = `CERTIFICATE://${HOST}:${certified.port},TOKEN://${HOST}:${tokened.port}`;
  const settings = (data: string): Record<string, string> => ({
    ...kafkaSettings,
    ...kafkaPlace({
      listeners: `${clients},${controllers}`,
      advertised_listeners: clients,
      protocols: 'CERTIFICATE:SSL,TOKEN:SASL_SSL,CONTROLLERS:PLAINTEXT',
      controller: `${HOST}:${controller.port}`,
      data,
    }),
    'controller.listener.names': 'CONTROLLERS',
    'inter.broker.listener.name': 'CERTIFICATE',
    'ssl.keystore.type': 'PEM',
    'ssl.keystore.location': certificateOf(BROKER).keystore,
    'ssl.truststore.type': 'PEM',
    'ssl.truststore.location': authority,
    'ssl.principal.mapping.rules': 'RULE:^CN=([^,]+).*$/$1/',
    'listener.name.certificate.ssl.client.auth': 'required',
    'sasl.enabled.mechanisms': 'OAUTHBEARER',
    'sasl.oauthbearer.expected.audience': AUDIENCE,
    'sasl.oauthbearer.jwks.endpoint.url': keysUrl,
    'listener.name.token.oauthbearer.sasl.server.callback.handler.class': VALIDATOR,
    'listener.name.token.oauthbearer.sasl.jaas.config':
      'org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;',
    // a connection ends with its token
    'listener.name.token.oauthbearer.connections.max.reauth.ms': '3600000',
    'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
    // the controllers' own connection has no account here
    'super.users': `User:${BROKER};User:${ADMINISTRATOR};User:ANONYMOUS`,
  });
  const { cert, key } = certificateOf(ADMINISTRATOR);
  const [ca, ownCert, ownKey] = [authority, cert, key].map((path) => readFileSync(path, 'utf8'));
  const ssl = { ca: ca ?? '', cert: ownCert ?? '', key: ownKey ?? '' };
  const connection = { brokers: [`${HOST}:${certified.port}`], ssl };
  const programs = await programsFor(folder, { ...defaultPorts, kafka: certified.port });
  const server = new Server(
    kafkaServer(folder, programs, {
      name: 'kafka',
      ports: [certified.port, tokened.port, controller.port],
      settings,
      java_options: [
        ...KAFKA_JAVA,
        `-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls=${keysUrl}`,
        `-Dorg.apache.kafka.sasl.oauthbearer.allowed.files=${keys}`,
      ],
      isReady: () => kafkaAnswers(certified.port, { ssl }),
      settle: () => settleKafka(connection, { prefix: '', replicas: 1 }),
    }),
    folder,
  );
  const stop = async (): Promise<void> => {
    await end(serverHandle(server));
    http.close();
    forget();
    for (const { release } of [certified, tokened, controller]) release();
    removeSystem(folder);
  };
  try {
    await server.start();
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    with_certificate: `${HOST}:${certified.port}`,
    with_token: `${HOST}:${tokened.port}`,
    authority,
    certificateOf,
    tokens,
    stop,
  };
}

async function openTokens(key: CryptoKey, forgedKey: CryptoKey) {
  const tokens: TokenEndpoint = { url: '', given: 0, life_s: 3_600, forge: false };
  const answer = async (
    { headers: { authorization = '' } }: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> => {
    const account = Buffer.from(authorization.replace('Basic ', ''), 'base64').toString();
    const [name = '', password = ''] = account.split(':').map(decodeURIComponent);
    if (password !== PASSWORD) return void response.writeHead(401).end();
    const access_token = await new SignJWT({})
      .setProtectedHeader({ alg: 'RS256', kid: 'one' })
      .setSubject(name)
      .setAudience(AUDIENCE)
      .setIssuedAt()
      .setExpirationTime(Math.ceil(Date.now() / 1_000 + tokens.life_s))
      .sign(tokens.forge ? forgedKey : key);
    tokens.given++;
    response.end(JSON.stringify({ access_token, expires_in: tokens.life_s }));
  };
  const server = createServer((request, response) => void answer(request, response));
  server.listen(0, HOST);
  await once(server, 'listening');
  const { port }: AddressInfo = JSON.parse(JSON.stringify(server.address()));
  return { server, tokens: Object.assign(tokens, { url: `http://${HOST}:${port}/token` }) };
}
