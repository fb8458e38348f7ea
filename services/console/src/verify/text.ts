/** Every English text of the verification of a reserve run. */
import type { State, StepName } from './verification.ts';

export const VERIFY = {
  title: 'Verify here',
  intro:
    'Your browser reads every block up to that of the run, checks it, and computes the run again with the code of the services. The steps show what it has checked; the list below them shows what it takes on trust.',
  start: 'Verify in this browser',
  again: 'Verify again',
  stop: 'Stop',
  runOf: 'The run of',
  states: {
    waiting: 'waiting',
    running: 'being checked',
    good: '✓ checked',
    believed: 'partly on trust',
    bad: '✗ differs',
    stopped: 'not checked',
  } satisfies Record<State, string>,
  steps: {
    blocks: 'Each block names the one before it, from the first block to that of the run',
    transactions:
      'Each transaction has the hash of its bytes, the signature of its sender, and the next nonce of its sender',
    effects:
      'Only the first block and mints create CLT, and only burns signed by the holder destroy it',
    mints: 'Only the mint authority has minted, and none of its nonces is missing',
    supply: 'All balance effects add up to the supply of the run',
    liability: 'The amount minted less the amount burned is the liability of the run',
    verdict: 'Surplus and status follow from these figures',
  } satisfies Record<StepName, string>,
  figures: {
    blocks: 'Blocks',
    blockHash: 'Hash of the last block',
    transactions: 'Transactions',
    addresses: 'Senders',
    unknown: 'Calls that this version of the page does not know',
    burned: 'Burned',
    mints: 'Mints',
    minted: 'Minted',
    authority: 'Mint authority',
    supply: 'Supply',
    liability: 'Liability',
    custody: 'Custody, on trust',
    surplus: 'Surplus',
    status: 'Status',
    parentHash: 'Hash of the block before',
    transactionHash: 'Hash of the transaction',
    sender: 'Sender',
    effects: 'Balance effects',
    minter: 'Sender of a mint',
    nonce: 'Nonce of its sender',
    chain: 'Chain id',
    genesis: 'Genesis allocation',
    uncovered: 'Not covered',
  },
  computed: (name: string): string => `${name}, computed here`,
  said: (name: string): string => `${name}, as the explorer says`,
  inBlock: 'In block',
  reason: 'Reason',
  progress: (blocks: string, of: string): string => `${blocks} of ${of} blocks checked.`,
  good: (blocks: string): string =>
    `Blocks 0 to ${blocks} are checked, and everything they show agrees with the run.`,
  partly: (blocks: string): string =>
    `Blocks 0 to ${blocks} are checked. Nothing contradicts the run, but a part of it is taken on trust.`,
  bad: 'The run does not agree with the chain: see the step marked ✗.',
  ended: (covered: string, why: string): string => `${covered} ${why}`,
  covered: (blocks: number, last: string): string =>
    blocks === 0 ? 'No block was checked.' : `Blocks 0 to ${last} were checked, and no others.`,
  stopped: 'You stopped it.',
  believed: 'Taken on trust',
  inputs: [
    'Custody and the part of it that is frozen: the treasury read them from TRON.',
    'Deposits that are not minted yet, fees, refunds, explained surplus, and which deposit each mint is for: they are in the ledger, which names customers and is not public.',
    'The address of the mint authority and the chain id, as the CLT node reports them: compare them with those that you know.',
    'Which blocks are final, and that the hash of a block stands for its content: how a node makes that hash is not known, so it is compared and not computed.',
    'The code of this page, which comes from the same server.',
  ],
  unknown:
    'Calls that this version of the page does not know: it has checked who signed them and how they change balances, not what they say. A newer version may know them.',
  tolerance:
    'The status also depends on the tolerance, which no run records. The status does not follow with the present tolerance, or the present tolerance is not known.',
  baseline:
    'The ledger began on a chain that had minted before, and counts from there. That earlier part of supply and liability is not public.',
  problems: {
    malformed: (problem: string): string =>
      `The explorer sent a block that cannot be read (${problem}). Try again; if it stays, tell the operator.`,
    noScript: 'The script of the verification did not load, or it failed. Load the page again.',
    ended: 'The explorer sent no further block. Try again.',
  },
};
