/** The texts that a key of an operator signs here. */
import type { Proposal } from '../../../../schemas/operations-api/answers.ts';
import type { Wanted } from '../../../../schemas/operations-api/document.ts';

/** The ids are in the order of the text. */
export interface Decision extends Wanted, Pick<Proposal, 'sequence' | 'decided_at' | 'ledger_id'> {
  /** what arrived for them, and their credits, together; micro-USDT */
  readonly gross: bigint;
  readonly credit: bigint;
}

const EVENTS = { approve: 'DepositApproved', reject: 'DepositRejected' } as const;

/**
 * The text of a decision, as `schemas/operator-signature.ts` writes it. The page makes it by itself
 * and signs no other, so that no server can have another decision signed.
 */
export async function decisionText(decision: Decision): Promise<string> {
  const { verb, deposit_ids: depositIds } = decision;
  const isOne = depositIds.length === 1;
  return [
    'CLT treasury',
    isOne ? EVENTS[verb] : 'DepositsDecided',
    `sequence: ${decision.sequence}`,
    `decided_at: ${decision.decided_at}`,
    `actor: ${JSON.stringify(decision.actor)}`,
    `reason: ${JSON.stringify(decision.reason)}`,
    ...(isOne
      ? [`deposit_id: ${JSON.stringify(depositIds[0])}`]
      : [
          `decision: ${JSON.stringify(verb)}`,
          `deposit_ids: ${depositIds.length}, SHA-256 ${await sha256(depositIds.map((id) => `${id}\n`).join(''))}`,
          `gross: ${decision.gross}`,
          `credit: ${decision.credit}`,
        ]),
    ...(decision.ledger_id === null ? [] : [`ledger: ${decision.ledger_id}`]),
  ].join('\n');
}

/** 0x + hex. Browsers have it on https and on this machine, which is where the page is served. */
async function sha256(text: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text));
  return `0x${Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}

/** Whether a text is a sign-in at the page of this host, and no decision. */
export function isSignIn(text: string, address: string, host: string): boolean {
  const [first, second = ''] = text.split('\n');
  return (
    first === `${host} wants you to sign in with your Ethereum account:` &&
    second.toLowerCase() === address
  );
}
