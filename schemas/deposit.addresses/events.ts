/** The events of topic `deposit.addresses`, as they stand in its Avro schemas beside this file. Addresses are the 20 bytes of the chain token's accounts, times Unix milliseconds. */

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

/** Whether a decoded record is one of this topic's events: its schema has given it the shape that its type says. */
export function isDepositAddressEvent(event: {
  readonly type: string;
}): event is DepositAddressEvent {
  return Object.hasOwn(TYPES, event.type);
}

/** The same fact has the same id in every retry: that an account asked is one fact however often it asks, that it looked is another each time. */
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
