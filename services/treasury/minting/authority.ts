/**
 * The mint authority: the account that the ledger names, whose key is ours, and that the chain lets
 * mint. The first one is named by the treasury that pins a ledger, later ones by operators. While
 * the three are not the same account, or the ledger is of another network, chain, token or first
 * policy than the settings, nothing is requested or sent; deposits are still confirmed.
 */
import { toHex } from '../../../schemas/address.ts';
import type { LedgerPinned } from '../../../schemas/treasury.ledger/events.ts';
import { randomBytes } from 'node:crypto';
import { pinLedger, type PinRefusal } from '../../../projections/deposits/domain/governing.ts';
import { mintCallOf } from '../../../projections/deposits/domain/minting.ts';
import type { RequestedMint } from '../../../projections/deposits/domain/ledger.ts';
import type { NodeChain } from '../../../schemas/chain-node.ts';
import { restartWith } from '../../runtime/process/config.ts';
import { Fault } from '../../runtime/process/errors.ts';
import { retrying, untilAborted } from '../../runtime/process/retry.ts';
import type { MintingParts } from './options.ts';

/** Mints of a ledger of an older writer that tell whose ledger it is; each takes 0.5 ms. */
const TELLING = 100;

type AuthorityParts = Pick<
  MintingParts,
  | 'books'
  | 'chain'
  | 'chain_id'
  | 'changes'
  | 'again_ms'
  | 'limits'
  | 'log'
  | 'network'
  | 'node'
  | 'now'
  | 'signal'
  | 'signer'
  | 'usdt_contract'
>;

export class Authority {
  readonly #options: AuthorityParts;
  /** as the node says */
  #chains: Buffer | undefined;
  /** of a ledger that this process pins */
  readonly #ledgerId = randomBytes(32);

  constructor(options: AuthorityParts) {
    this.#options = options;
  }

  /** Why nothing may be requested or sent with our key, and what to do. */
  get problem(): string | undefined {
    const { books, chain, signer } = this.#options;
    const { authority } = books.ledger.governance;
    const own = toHex(signer.address);
    if (!chain.is_complete)
      return `the ledger has named a new mint authority, ${nameOf(authority)}, since this treasury was started. What to do: give it the key of that account: ${restartWith('treasury', 'APP_MINT_KEY=KEY')}`;
    if (authority !== undefined && !authority.authority.equals(signer.address))
      return `the mint authority of the ledger is ${nameOf(authority)}, and APP_MINT_KEY is the key of ${own}. What to do: start the treasury with the key of the former; if the latter is to mint, an operator names it in the ledger first (\`ops authority rotate\`)`;
    if (this.#chains !== undefined && !this.#chains.equals(signer.address))
      return `the chain lets ${toHex(this.#chains)} mint, and the mint authority of the ledger is ${own}. What to do: if the chain is right, an operator names its authority in the ledger (\`ops authority rotate\`), and APP_MINT_KEY is set to its key; else correct APP_NODE_URL`;
    if (authority === undefined && !this.#isOurLedger())
      return `the ledger names no mint authority, and its mints were requested with another key, or for another chain, than the settings say. What to do: give it those that the ledger was written with: ${restartWith('treasury', 'APP_MINT_KEY=KEY', 'APP_CHAIN_ID=ID')}`;
    const pinned = this.#pinned();
    return 'refused' in pinned ? PIN_REFUSALS[pinned.refused] : undefined;
  }

  /** Pins a ledger that is not pinned, with our account where it names none. */
  get due(): readonly LedgerPinned[] {
    if (this.problem !== undefined) return [];
    const pinned = this.#pinned();
    return 'events' in pinned ? pinned.events : [];
  }

  #pinned(): ReturnType<typeof pinLedger> {
    const { books, signer, now, network, limits, chain_id, usdt_contract } = this.#options;
    const { address: authority } = signer;
    const ledger_id = this.#ledgerId;
    return pinLedger(
      books.ledger,
      { network, limits, chain_id, usdt_contract, authority, ledger_id },
      now(),
    );
  }

  /** Whether this mint in flight is what our key signs, byte for byte. */
  signs(mint: RequestedMint): boolean {
    return this.#options.signer.sign(mintCallOf(mint)).tx_hash.equals(mint.tx_hash);
  }

  /** Throws a fault unless the node serves our chain, and our authority where none is named yet. */
  async begin(): Promise<void> {
    const { node, chain_id, signer, books, log, signal } = this.#options;
    const chain = await retrying({ what: 'asking the node for its chain', log, signal }, () =>
      node.chain(),
    );
    this.#chains = chain.mint_authority;
    const isNamed = books.ledger.governance.authority !== undefined;
    if (chain.chain_id === chain_id && (isNamed || chain.mint_authority.equals(signer.address)))
      return;
    throw new Fault('another_chain', otherChain(chain, { chain_id, own: signer.address }), {
      retry: false,
    });
  }

  /** Asks the node again and again until the signal is aborted: the chain may name another. */
  async watch(): Promise<void> {
    const { node, signal, changes, again_ms } = this.#options;
    while (!signal.aborted) {
      await untilAborted(again_ms, signal);
      try {
        const { mint_authority: mintAuthority } = await node.chain();
        if (this.#chains?.equals(mintAuthority) === false) changes.notify();
        this.#chains = mintAuthority;
      } catch (error) {
        // the broadcaster says what is wrong with the node
        if (!(error instanceof Fault)) throw error;
      }
    }
  }

  #isOurLedger(): boolean {
    const requested = [...this.#options.books.ledger.requested].slice(-TELLING);
    return requested.length === 0 || requested.some((mint) => this.signs(mint));
  }
}

const CORRECTED = restartWith('treasury', 'NAME=VALUE');

const PIN_REFUSALS: Readonly<Record<PinRefusal, string>> = {
  other_network: `the ledger is of another network than APP_NETWORK. What to do: correct APP_NETWORK or APP_KAFKA_BROKERS: ${CORRECTED}`,
  other_chain: `the ledger is of another chain than APP_CHAIN_ID. What to do: correct APP_CHAIN_ID or APP_KAFKA_BROKERS: ${CORRECTED}`,
  other_token: `the ledger counts another token than APP_USDT_CONTRACT. What to do: correct APP_USDT_CONTRACT or APP_KAFKA_BROKERS: ${CORRECTED}`,
  other_policy: `nobody has signed the policy in force, and its limits are not those of the settings, so it may be that of a stranger. What to do: compare \`ops policy show\` with the settings; set APP_FIRST_FEE, APP_LATER_FEE, APP_MINIMUM, APP_SINGLE_CAP and APP_ROLLING_CAP to what it should be (${CORRECTED}); or an operator signs the right limits with \`ops policy set\``,
};

function nameOf(set: { readonly authority: Buffer; readonly version: number } | undefined): string {
  return set === undefined ? 'none' : `${toHex(set.authority)} (version ${set.version})`;
}

function otherChain(
  chain: NodeChain,
  { chain_id, own }: { readonly chain_id: number; readonly own: Buffer },
): string {
  return `the node serves chain ${chain.chain_id}, whose mint authority is ${toHex(chain.mint_authority)}; the settings are for chain ${chain_id} and the key of ${toHex(own)}. What to do: correct APP_NODE_URL, APP_CHAIN_ID or APP_MINT_KEY: ${CORRECTED}`;
}
