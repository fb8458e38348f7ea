/** The fields to ask PostGraphile for, and its nodes in the form of our interfaces. */

/** Fields of a row; bytes in base64, int8 and numeric as text. */
export type Node = Readonly<Record<string, string | number | boolean | null>>;

export const TRANSACTION_FIELDS =
  'hash blockHeight fromAddress toAddress amount fee functionCallType isRideRelated timestamp referrer requestReferrerFee offerReferrerFee';

export const REQUEST_FIELDS =
  'hash pickupLat pickupLng dropoffLat dropoffLng fare passenger referrer';

export function explorerTransaction(node: Node): object {
  return {
    hash: hex(node['hash']),
    block_height: Number(node['blockHeight']),
    from: hex(node['fromAddress']),
    to: hex(node['toAddress']),
    amount: Number(node['amount']),
    fee: Number(node['fee']),
    status: 'confirmed',
    function_call_type: node['functionCallType'],
    is_ride_related: node['isRideRelated'],
    timestamp: new Date(String(node['timestamp'])).toISOString(),
    referrer: hex(node['referrer']),
    request_referrer_fee: Number(node['requestReferrerFee']),
    offer_referrer_fee: Number(node['offerReferrerFee']),
  };
}

export function hubRequest(node: Node): object {
  return {
    txHash: hex(node['hash']),
    pickupLocation: {
      latitude: Number(node['pickupLat']),
      longitude: Number(node['pickupLng']),
    },
    dropoffLocation: {
      latitude: Number(node['dropoffLat']),
      longitude: Number(node['dropoffLng']),
    },
    fare: node['fare'],
    passengerAddress: hex(node['passenger']),
    referrer: hex(node['referrer']),
  };
}

function hex(base64: Node[string] | undefined): string | null {
  return typeof base64 === 'string' ? `0x${Buffer.from(base64, 'base64').toString('hex')}` : null;
}
