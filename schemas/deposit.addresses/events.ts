/** Events of topic `deposit.addresses`. Accounts are 20 bytes, times Unix milliseconds. */

export interface SchemePinned {
  readonly type: 'SchemePinned';
  /** `hd` */
  readonly scheme: string;
  /** at m/44'/195'/0'/0 */
  readonly extended_public_key: string;
  readonly pinned_at: number;
}

export interface AddressRequested {
  readonly type: 'AddressRequested';
  readonly clt_address: Buffer;
  readonly requested_at: number;
}

export interface PanelOpened {
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
      return `${event.type}:${event.scheme}:${event.extended_public_key}`;
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
