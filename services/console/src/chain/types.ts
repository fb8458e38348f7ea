/** The types of transactions, as a reader chooses them. */
export const TYPES = [
  'RideRequest',
  'RideOffer',
  'RideAcceptance',
  'RidePay',
  'RideCancel',
  'RideRequestCancel',
  'Mint',
  'Transfer',
  'Burn',
] as const;
