/** Every English text of the verification of a reserve run. */
import type { State, StepName } from './verification.ts';

export const VERIFY = {
  title: 'Verify here',
  intro:
    'This browser reads every block up to that of the run, checks it, and computes the run again by the code of the services. The steps show what it has checked, and the list below them what it has to believe.',
  start: 'Verify in this browser',
  again: 'Verify again',
  stop: 'Stop',
  runOf: 'The run of',
  states: {
    waiting: 'waits',
    running: 'being checked',
    good: '✓ checked',
    believed: 'partly believed',
    bad: '✗ differs',
    stopped: 'not checked',
  } satisfies Record<State, string>,
  steps: {
    blocks: 'Each block names the one before it, from the first to that of the run',
    transactions:
      'Each transaction has the hash of its bytes, and its sender has signed them, one nonce after the other',
    effects:
      'Only the first block and mints create CLT, and only burns that the holder signed destroy it',
    mints: 'Only the mint authority has minted, one nonce after the other',
    supply: 'All effects add up to the supply of the run',
    liability: 'Minted less burned is the liability of the run',
    verdict: 'Surplus and status follow from these figures',
  } satisfies Record<StepName, string>,
  figures: {
    blocks: 'Blocks',
    blockHash: 'Hash of the last block',
    transactions: 'Transactions',
    addresses: 'Addresses recomputed',
    burned: 'Burned',
    mints: 'Mints',
    minted: 'Minted',
    authority: 'Mint authority',
    supply: 'Supply',
    liability: 'Liability',
    custody: 'Custody, believed',
    surplus: 'Surplus',
    status: 'Status',
    parentHash: 'Hash of the block before',
    transactionHash: 'Hash of the transaction',
    sender: 'Sender',
    effects: 'Effects',
    minter: 'Account of a mint',
    nonce: 'Nonce of its sender',
    chain: 'Number of the chain',
    genesis: 'Genesis allocation',
    uncovered: 'Not covered',
  } as Readonly<Record<string, string>>,
  computed: (name: string): string => `${name}, computed here`,
  said: (name: string): string => `${name}, as the explorer says`,
  inBlock: 'In block',
  reason: 'Reason',
  progress: (blocks: string, of: string): string => `${blocks} of ${of} blocks checked.`,
  good: (blocks: string): string =>
    `Blocks 0 to ${blocks} are checked, and all that they show agrees with the run.`,
  partly: (blocks: string): string =>
    `Blocks 0 to ${blocks} are checked. Nothing contradicts the run, and a part of it is believed.`,
  bad: 'The run does not agree with the chain: see the step in red.',
  ended: (covered: string, why: string): string => `${covered} ${why}`,
  covered: (blocks: number, last: string): string =>
    blocks === 0 ? 'No block is checked.' : `Blocks 0 to ${last} are checked, and no other.`,
  stopped: 'You stopped it.',
  believed: 'To be believed',
  inputs: [
    'Custody and the part of it that is frozen: the treasury has read them at TRON.',
    'Deposits that are not minted, fees, refunds and explained surplus, and whose deposit each mint pays: they are in the ledger, which names customers and is not public.',
    'The account of the mint authority and the number of the chain, as the CLT node says them: compare them with those that you know.',
    'Which blocks are final, and that the hash of a block stands for what is in it: how a node makes that hash is not known, so it is compared and not computed.',
    'The code of this page, which comes from the same server.',
  ],
  tolerance:
    'The status also depends on the tolerance, which no run records: with the one of now it would be another, or it is not known.',
  baseline:
    'The ledger began on a chain that had minted before, and counts from there. That earlier part of supply and liability is not public.',
  problems: {
    malformed: (problem: string): string =>
      `The explorer sent a block that cannot be read (${problem}). Try again; if it stays, tell the operator.`,
    noScript: 'The script of the verification did not load or failed. Load the page again.',
    ended: 'The explorer sent no further block. Try again.',
  },
};
