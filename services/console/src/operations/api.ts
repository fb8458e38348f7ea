/** The interface of `ops console`. The token is in this page's memory alone: a reload ends it. */
import { send } from '../api/service.ts';

export interface Session {
  readonly token: string;
  /** 0x + lower-case hex */
  readonly operator: string;
  /** Unix milliseconds */
  readonly expires_at: number;
}

/** A part of the answer, or why it is not known. */
export type Part<Value> =
  { readonly is: Value; readonly problem: null } | { readonly is: null; readonly problem: string };

export interface ServiceHealth {
  readonly name: string;
  readonly status: string;
  readonly phase: string;
  readonly waits_for: string | null;
  readonly eta_s: number | null;
  /** of a service that is ready: what needs a person nevertheless */
  readonly message: string | null;
  readonly metrics: Readonly<Record<string, number>>;
}

export interface Position {
  readonly projection: string;
  readonly version: number;
  readonly topic: string;
  readonly partition: number;
  readonly next_offset: string;
  readonly lag: string | null;
  readonly rate: number;
  readonly idle_seconds: number;
  readonly loading: boolean;
}

/** A deposit that waits for a person's decision. Amounts are micro-USDT. */
export interface Waiting {
  readonly id: string;
  readonly clt_address: string;
  readonly amount_usdt: string;
  readonly credit_usdt: string;
  readonly reason: string | null;
  /** of the two that it needs; null: it needs one */
  readonly approvals: number | null;
  readonly created_at: string;
}

export interface WaitingList {
  readonly deposits: readonly Waiting[];
  readonly has_more: boolean;
}

/** The deposits that wait and are of less than `below`; micro-USDT. */
export interface Dust {
  readonly below: string;
  readonly deposits: number;
  /** what arrived for them, together */
  readonly amount: string;
}

export interface Quarantined {
  readonly projection: string;
  readonly topic: string;
  readonly partition: number;
  readonly offset: string;
  readonly error: string;
  readonly found_at: string;
  readonly state: string;
}

export interface Staged {
  readonly projection: string;
  readonly version: number;
  readonly task: 'rebuild' | 'verify';
  readonly state: 'loading' | 'indexing' | 'catching_up' | 'stopped';
  readonly by: string | null;
  readonly records: string;
  readonly records_all: string | null;
}

export interface Alert {
  readonly name: string;
  readonly state: string;
  readonly severity: string | null;
  readonly service: string | null;
  readonly text: string;
  readonly since: string;
}

export interface Status {
  readonly node: { readonly height: number; readonly finalized_height: number } | null;
  readonly projections: readonly Position[] | null;
  readonly services: readonly ServiceHealth[] | null;
  readonly faults: readonly string[];
  /** what a person should look at, and is no fault */
  readonly notes: readonly string[];
}

export interface Operations {
  readonly ledger: {
    readonly problem: string | null;
    readonly network: string | null;
    readonly operators: number;
  };
  readonly status: Part<Status>;
  readonly quarantine: Part<readonly Quarantined[]>;
  readonly rebuilds: Part<readonly Staged[]>;
  /** without the dust, which is only counted */
  readonly waiting: Part<WaitingList & { readonly dust: Dust }>;
  readonly alerts: Part<readonly Alert[]> | null;
}

export interface DepositEvent {
  readonly event: string;
  readonly at: string;
  readonly topic: string;
  readonly partition: number;
  readonly offset: string;
  readonly details: Readonly<Record<string, string>>;
}

export interface Deposit extends Omit<Waiting, 'approvals'> {
  readonly fee_usdt: string;
  readonly status: string;
  readonly approved: boolean;
  readonly rejected: boolean;
  readonly deposit_address: string;
  readonly tron_tx_id: string;
  readonly mint_tx_hash: string | null;
  readonly events: readonly DepositEvent[];
  /** null: it waits for nobody's decision */
  readonly effects: {
    readonly approve: string;
    readonly reject: string;
    readonly approved_by: readonly string[];
  } | null;
}

export interface Proposal {
  readonly sequence: number;
  readonly decided_at: number;
  /** of the ledger that the text names; null: it is not pinned yet */
  readonly ledger_id: string | null;
  /** null: it was decided before */
  readonly text: string | null;
  /** those that the text is about, in its order */
  readonly deposit_ids: readonly string[];
  /** why the others have no part in it */
  readonly left_out: readonly { readonly deposit_id: string; readonly why: string }[];
}

export interface Decided {
  readonly appended: {
    readonly topic: string;
    readonly partition: number;
    readonly offset: string;
  } | null;
}

export interface TopicTypes {
  readonly name: string;
  readonly types: readonly string[];
}

/** A record, a note that the stream waits, or nothing. */
export interface RecordLine {
  readonly topic: string;
  readonly partition: number;
  readonly offset: string;
  readonly time: string;
  readonly key: string | null;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly type: string | null;
  readonly value: unknown;
  readonly error?: string;
}

interface Call {
  readonly signal?: AbortSignal;
  readonly body?: object;
}

/** Throws a `ServiceError`. */
export async function ask<Answer>(
  path: string,
  token: string | undefined,
  call: Call = {},
): Promise<Answer> {
  const response = await request(path, token, call);
  const answer: Answer = await response.json();
  return answer;
}

/** Throws a `ServiceError`. */
export function request(
  path: string,
  token: string | undefined,
  { signal, body }: Call,
): Promise<Response> {
  const headers = {
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
    ...(body !== undefined && { 'content-type': 'application/json' }),
  };
  const sent = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
  return send(`/api/v1/${path}`, { headers, ...sent, ...(signal && { signal }) });
}
