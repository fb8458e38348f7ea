/** Rotations of what services have as settings. */
import { privateKeySigner, signIn } from '../../packages/wallet/src/index.ts';
import { ChainNode } from '../../services/runtime/clt-node.ts';
import { verifyToken } from '../../services/runtime/http/token.ts';
import { toHex } from '../../schemas/address.ts';
import { blocksBelow } from '../support/documents.ts';
import { never } from '../support/kafka.ts';
import { until } from '../support/until.ts';
import { isGood, read, urlsOf, type Gateway } from './rotation-readers.ts';
import { PAGE, type Rotation, type RotationWorld } from './rotation-world.ts';

const SIGNED_IN: readonly Gateway[] = ['deposit', 'hub'];
const CHAIN_ID = 7777;

/** The commands of a section, which has this many blocks. */
function commandsOf(heading: string, count: number): readonly string[] {
  const blocks = blocksBelow(PAGE, heading).map(({ code }) => code);
  if (blocks.length !== count)
    throw new Error(`${PAGE} has ${blocks.length} blocks below ${heading}, and the run ${count}`);
  return blocks;
}

/** How many of the four instances accept a token of this secret. */
async function accepting(world: RotationWorld, secret: string): Promise<number> {
  const answers = await Promise.all(
    SIGNED_IN.flatMap((gateway) =>
      urlsOf(world.cluster, gateway).map((url) => read(gateway, url, world.tokenOf(secret))),
    ),
  );
  return answers.filter(isGood).length;
}

const tokenSecret: Rotation = {
  name: 'Token secret',
  async steps(world) {
    const [accept = '', sign = '', end = ''] = commandsOf(this.name, 3);
    const before = world.token_secret;
    await world.paste(accept);
    const fresh = world.file('new/jwt-secret');
    world.claim('each instance accepts the new secret', (await accepting(world, fresh)) === 4);
    world.claim('each instance accepts the old secret', (await accepting(world, before)) === 4);
    await world.paste(sign);
    world.claim('tokens of before are accepted', (await accepting(world, before)) === 4);
    for (const url of urlsOf(world.cluster, 'hub')) {
      const signer = privateKeySigner(`0x${'1'.padStart(64, '0')}`);
      const { token } = await signIn({ url: `${url}/graphql`, chainId: CHAIN_ID }, signer);
      const claims = await verifyToken(token, { jwt_secret: fresh }, Date.now());
      world.claim(`${url} signs with the new secret`, claims !== undefined);
    }
    await world.goesOn('the new secret signs');
    // in place of the hours until the tokens of before have expired
    world.token_secret = fresh;
    await world.paste(end);
    world.claim('each instance accepts the new secret', (await accepting(world, fresh)) === 4);
    world.claim('no instance accepts the old secret', (await accepting(world, before)) === 0);
  },
};

const tronKey: Rotation = {
  name: 'TRON key',
  async steps(world) {
    const [set = '', revoke = ''] = commandsOf(this.name, 2);
    const used = async (): Promise<number> => {
      const counts = await world.admin('/tron/keys');
      return Number(counts[world.file('new/tron-key')] ?? 0);
    };
    await world.paste(set);
    await world.deposits.pay();
    await world.deposits.credited('the new key at the provider');
    const seen = await used();
    world.claim('the provider has seen the new key', seen > 0);
    await world.paste(revoke);
    await until(used, 'the provider to see the new key after the old one', (now) => now > seen);
  },
};

const authorityRotation: Rotation = {
  name: 'Mint authority',
  async steps(world) {
    const [decide = '', accept = '', set = ''] = commandsOf(this.name, 3);
    await world.paste(decide);
    // waits until the treasury has the new key
    await world.deposits.pay();
    await world.paste(accept);
    await world.paste(set);
    await world.deposits.credited('the new mint authority');
    const node = new ChainNode(`http://127.0.0.1:${world.cluster.ports[0].node}`, never);
    const { mint_authority: mintAuthority } = await node.chain();
    world.claim(
      'the chain lets the new authority mint',
      toHex(mintAuthority) === world.file('new/mint-address').toLowerCase(),
    );
  },
};

const operators: Rotation = {
  name: 'Operators',
  async steps(world) {
    for (const block of commandsOf(this.name, 3)) await world.paste(block);
    const because = "--actor alice --reason 'a new key'";
    const file = '.local/cluster/data/new/operator.json';
    await world.paste(`ops policy set --single-cap 1500 ${because} --key-file ${file}\n`);
    const { code, printed } = await world.shell(`ops mint stop ${because} --json\n`);
    world.claim(
      'a decision of the old key is refused',
      code === 1 && printed.includes('"not_an_operator"'),
    );
  },
};

export const SETTINGS_ROTATIONS: readonly Rotation[] = [
  tokenSecret,
  tronKey,
  authorityRotation,
  operators,
];
