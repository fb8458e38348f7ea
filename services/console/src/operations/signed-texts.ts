/** The texts that a key of an operator signs here. */

export interface Decision {
  readonly verb: 'approve' | 'reject';
  readonly deposit_id: string;
  readonly actor: string;
  readonly reason: string;
  readonly sequence: number;
  readonly decided_at: number;
  /** 0x + hex; null: the ledger is not pinned yet */
  readonly ledger_id: string | null;
}

const EVENTS = { approve: 'DepositApproved', reject: 'DepositRejected' } as const;

/**
 * The text of a decision, as `schemas/operator-signature.ts` writes it. The page makes it by itself
 * and signs no other, so that no server can have another decision signed.
 */
export function decisionText(decision: Decision): string {
  return [
    'CLT treasury',
    EVENTS[decision.verb],
    `sequence: ${decision.sequence}`,
    `decided_at: ${decision.decided_at}`,
    `actor: ${JSON.stringify(decision.actor)}`,
    `reason: ${JSON.stringify(decision.reason)}`,
    `deposit_id: ${JSON.stringify(decision.deposit_id)}`,
    ...(decision.ledger_id === null ? [] : [`ledger: ${decision.ledger_id}`]),
  ].join('\n');
}

/** Whether a text is a sign-in at the page of this host, and no decision. */
export function isSignIn(text: string, address: string, host: string): boolean {
  const [first, second = ''] = text.split('\n');
  return (
    first === `${host} wants you to sign in with your Ethereum account:` &&
    second.toLowerCase() === address
  );
}
