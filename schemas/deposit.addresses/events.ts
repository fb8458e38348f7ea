/** Events of topic `deposit.addresses`. Accounts are 20 bytes, times Unix milliseconds. */

interface Written {
  /** the offset that it was written for, where alone it counts; -1 or none: counts anywhere */
  readonly sequence?: number;
  /** SHA-256 of the last record before it that counted; the writer adds it */
  readonly previous?: Buffer;
}

export interface SchemePinned extends Written {
  readonly type: 'SchemePinned';
  /** `hd` */
  readonly scheme: string;
  /** at m/44'/195'/0'/0; written by older writers, empty in later logs */
  readonly extended_public_key: string;
  readonly pinned_at: number;
  /** SHA-256 of the extended public key's text; none or empty: an older writer's */
  readonly fingerprint?: Buffer;
}

export interface AddressRequested extends Written {
  readonly type: 'AddressRequested';
  readonly clt_address: Buffer;
  readonly requested_at: number;
  /** the next one; -1 or none: an older writer's */
  readonly derivation_index?: number;
  /** 20 bytes: the child of the pinned key at this index; none or empty: an older writer's */
  readonly deposit_address?: Buffer;
}

export interface PanelOpened extends Written {
  readonly type: 'PanelOpened';
  readonly clt_address: Buffer;
  readonly opened_at: number;
}

export type DepositAddressEvent = SchemePinned | AddressRequested | PanelOpened;

const TYPES: Readonly<Record<DepositAddressEvent['type'], true>> = {
  SchemePinned: true,
  AddressRequested: true,
  PanelOpened: true,
};

/** Whether a decoded record is an event of this topic. Its Avro schema guarantees the shape. */
export function isDepositAddressEvent(event: {
  readonly type: string;
}): event is DepositAddressEvent {
  return Object.hasOwn(TYPES, event.type);
}

/** Stable across retries. All requests of one account are one fact; each panel opening is one. */
export function depositAddressEventId(event: DepositAddressEvent): string {
  switch (event.type) {
    case 'SchemePinned':
      return `${event.type}:${event.scheme}:${event.fingerprint?.toString('hex') || event.extended_public_key}`;
    case 'AddressRequested':
      return `${event.type}:${event.clt_address.toString('hex')}`;
    case 'PanelOpened':
      return `${event.type}:${event.clt_address.toString('hex')}:${event.opened_at}`;
  }
}

/** The record's key: the account as 0x + lower-case hex, or `scheme`. */
export function depositAddressEventKey(event: DepositAddressEvent): string {
  return event.type === 'SchemePinned' ? 'scheme' : `0x${event.clt_address.toString('hex')}`;
}
