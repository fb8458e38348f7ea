-- The schema analytics: what analysts may rely on, whatever becomes of the tables. Each function is
-- read through a view of its name, which casts its columns to the types that are written here: a
-- function loses the precision of numeric (RBD-7). Its text finds the tables by name whenever it is
-- read, so a rebuild may exchange them. Addresses and hashes are text, amounts CLT or USDT.

CREATE FUNCTION analytics.hex(bytea) RETURNS text
  LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE RETURN '0x' || encode($1, 'hex');

-- CLT or USDT of base units; a product is exact, a quotient need not be. An amount that fits in no
-- column is null: anybody can name one, such as the fare of a request.
CREATE FUNCTION analytics.amount(numeric) RETURNS numeric
  LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN CASE WHEN abs($1) < 1e38 THEN $1 * 0.000001 END;

-- The same of what makes up the supply: the view fails where it does not fit, so no sum is wrong.
CREATE FUNCTION analytics.total(numeric) RETURNS numeric
  LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE RETURN $1 * 0.000001;

-- The bytes of an address, in small letters or capitals.
CREATE FUNCTION analytics.bytes(text) RETURNS bytea
  LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
  IF $1 !~* '^0x[0-9a-f]{40}$' THEN
    RAISE invalid_parameter_value
      USING MESSAGE = format('"%s" is no address: write 0x and 40 hex digits', $1);
  END IF;
  RETURN decode(substr($1, 3), 'hex');
END
$$;

-- The blocks of the current chain. Reverted blocks are not among them.
CREATE FUNCTION analytics.blocks() RETURNS TABLE (
  height           bigint,        -- 0, 1, 2, ...
  hash             text,          -- 0x and 64 hex digits
  parent_hash      text,          -- hash of the block at height - 1
  block_time       timestamptz,   -- said by the chain
  producer         text,          -- address of the validator that made it
  reward_recipient text,          -- address that the reward goes to
  reward           numeric(38,6), -- CLT, besides the fees
  fees             numeric(38,6), -- CLT that the producer earned in fees
  transactions     integer,       -- number of its transactions
  is_final         boolean        -- true: it can not be reverted any more
) LANGUAGE sql STABLE AS $$
  SELECT height, analytics.hex(hash), analytics.hex(parent_hash), timestamp, analytics.hex(producer),
         analytics.hex(reward_recipient), analytics.amount(block_reward), analytics.amount(total_fees),
         tx_count, height <= (SELECT finalized_height FROM explorer.head)
    FROM explorer.blocks
$$;

-- The transactions of the current chain.
CREATE FUNCTION analytics.transactions() RETURNS TABLE (
  tx_hash              text,          -- 0x and 64 hex digits
  block_height         bigint,        -- height of its block
  tx_index             integer,       -- 0, 1, 2, ... in its block
  block_time           timestamptz,   -- time of its block
  from_address         text,          -- the signer
  to_address           text,          -- the account or contract called
  nonce                bigint,        -- 0, 1, 2, ... of the signer
  function_call_type   text,          -- name of the call, such as Transfer or RidePay
  is_ride_related      boolean,       -- a call of the ride market
  amount               numeric(38,6), -- CLT, as the chain says it of the call
  fee                  numeric(38,6), -- CLT that the signer paid
  referrer             text,          -- address that the call names as its referrer; null: none
  request_referrer     text,          -- address that referred the request of a payment; null: none
  offer_referrer       text,          -- address that referred the offer of a payment; null: none
  request_referrer_fee numeric(38,6), -- CLT to request_referrer
  offer_referrer_fee   numeric(38,6), -- CLT to offer_referrer
  is_final             boolean        -- true: its block can not be reverted any more
) LANGUAGE sql STABLE AS $$
  SELECT analytics.hex(hash), block_height, tx_index, timestamp, analytics.hex(from_address),
         analytics.hex(to_address), nonce, function_call_type, is_ride_related,
         analytics.amount(amount), analytics.amount(fee), analytics.hex(referrer),
         analytics.hex(request_referrer), analytics.hex(offer_referrer),
         analytics.amount(request_referrer_fee), analytics.amount(offer_referrer_fee),
         block_height <= (SELECT finalized_height FROM explorer.head)
    FROM explorer.transactions
$$;

-- The rows of transactions from or to one address, the newest first: reads no more than it shows.
CREATE FUNCTION analytics.transactions_of(address text) RETURNS SETOF analytics.transactions
  LANGUAGE sql STABLE AS $$
  SELECT analytics.hex(t.hash), t.block_height, t.tx_index, t.timestamp, analytics.hex(t.from_address),
         analytics.hex(t.to_address), t.nonce, t.function_call_type, t.is_ride_related,
         analytics.amount(t.amount), analytics.amount(t.fee), analytics.hex(t.referrer),
         analytics.hex(t.request_referrer), analytics.hex(t.offer_referrer),
         analytics.amount(t.request_referrer_fee), analytics.amount(t.offer_referrer_fee),
         t.block_height <= (SELECT finalized_height FROM explorer.head)
    FROM explorer.account_transactions a
    JOIN explorer.transactions t ON t.seq = a.seq
   WHERE a.address = analytics.bytes($1)
   ORDER BY a.ordinal DESC
$$;

-- Every change of every balance in the current chain. Their sum is the supply.
CREATE FUNCTION analytics.balance_effects() RETURNS TABLE (
  address      text,          -- whose balance changed
  ordinal      bigint,        -- 0, 1, 2, ... among those of this address, in chain order
  kind         text,          -- reason, such as transfer, mint, burn, ride_pay, tx_fee_paid
  delta        numeric(38,6), -- CLT, negative for a debit
  balance      numeric(38,6), -- CLT of the address after this change
  counterparty text,          -- the other address; null: none
  tx_hash      text,          -- the transaction; null: an effect of the block itself
  block_height bigint,        -- height of the block
  block_time   timestamptz    -- time of the block
) LANGUAGE sql STABLE AS $$
  SELECT analytics.hex(o.address), a.ordinal, a.kind, analytics.total(a.delta),
         analytics.total(a.balance), analytics.hex(a.counterparty), analytics.hex(t.hash),
         a.block_height, b.timestamp
    FROM explorer.activity a
    JOIN explorer.blocks b ON b.height = a.block_height
    -- the height leads from a hash to the effects of its block
    LEFT JOIN explorer.transactions t ON t.seq = a.seq AND t.block_height = a.block_height
    -- an index of the text of each account, instead of one of each effect; every account has a row
    LEFT JOIN explorer.accounts o ON o.address = a.address
$$;

-- The rows of balance_effects of one address, the newest first: reads no more than it shows.
CREATE FUNCTION analytics.effects_of(address text) RETURNS SETOF analytics.balance_effects
  LANGUAGE sql STABLE AS $$
  SELECT analytics.hex(a.address), a.ordinal, a.kind, analytics.total(a.delta),
         analytics.total(a.balance), analytics.hex(a.counterparty), analytics.hex(t.hash),
         a.block_height, b.timestamp
    FROM explorer.activity a
    JOIN explorer.blocks b ON b.height = a.block_height
    LEFT JOIN explorer.transactions t ON t.seq = a.seq
   WHERE a.address = analytics.bytes($1)
   ORDER BY a.ordinal DESC
$$;

-- The accounts that the chain has seen, now.
CREATE FUNCTION analytics.accounts() RETURNS TABLE (
  address         text,          -- 0x and 40 lower-case hex digits
  balance         numeric(38,6), -- CLT
  nonce           bigint,        -- nonce of its next transaction
  transactions    bigint,        -- number from or to it
  is_contract     boolean,       -- the chain took money from it without its signature
  blocks_produced bigint         -- number of blocks of the current chain that it made
) LANGUAGE sql STABLE AS $$
  SELECT analytics.hex(address), analytics.total(balance), nonce, transactions,
         unsigned_debits > 0, blocks_produced
    FROM explorer.accounts
$$;

-- The deposit addresses on TRON, one for each account that asked.
CREATE FUNCTION analytics.deposit_addresses() RETURNS TABLE (
  clt_address     text,       -- the account
  deposit_address text,       -- its address on TRON, T...
  requested_at    timestamptz -- when it was first asked for
) LANGUAGE sql STABLE AS $$
  SELECT analytics.hex(clt_address), projector.tron_address(deposit_address), requested_at
    FROM deposits.addresses
$$;

-- The transfers of USDT to deposit addresses that were observed, confirmed as deposits or not.
CREATE FUNCTION analytics.tron_transfers() RETURNS TABLE (
  tx_id           text,          -- transaction on TRON, 64 hex digits
  log_index       integer,       -- position among the logs of the transaction
  deposit_address text,          -- where it went to, T...; null while the address is not read yet
  amount          numeric(38,6), -- USDT
  block_number    bigint,        -- block on TRON
  block_time      timestamptz    -- time of that block
) LANGUAGE sql STABLE AS $$
  SELECT encode(t.tx_id, 'hex'), t.log_index, projector.tron_address(a.deposit_address),
         analytics.amount(t.value), t.block_number, t.block_timestamp
    FROM watch.transfers t
    -- the one index of this text, which is dear to make
    LEFT JOIN deposits.addresses a ON a.deposit_address = t.deposit_address
$$;

-- The deposits with their state now.
CREATE FUNCTION analytics.deposits() RETURNS TABLE (
  deposit_id      text,          -- UUID
  clt_address     text,          -- the owner
  deposit_address text,          -- where it arrived on TRON, T...; null while it is not read yet
  tx_id           text,          -- transaction on TRON, 64 hex digits
  log_index       integer,       -- position of the transfer among the logs of the transaction
  gross           numeric(38,6), -- USDT that arrived
  fee             numeric(38,6), -- USDT; it may be more than what arrived
  credit          numeric(38,6), -- CLT to mint
  status          text,          -- confirmed, mint_requested, credited or needs_manual
  reason          text,          -- reason of the hold; null unless needs_manual
  approved        boolean,       -- by an operator
  rejected        boolean,       -- by an operator, for good
  refunded        numeric(38,6), -- USDT paid back by an operator
  arrived_at      timestamptz,   -- block time of the transfer
  confirmed_at    timestamptz,   -- when the treasury decided on it
  credited_at     timestamptz,   -- when its mint was found in a final block; null unless credited
  mint_tx_hash    text           -- its mint; null unless mint_requested or credited
) LANGUAGE sql STABLE AS $$
  SELECT d.id, analytics.hex(d.clt_address), projector.tron_address(a.deposit_address),
         encode(d.tx_id, 'hex'), d.log_index, analytics.amount(d.gross), analytics.amount(d.fee),
         analytics.amount(d.credit), s.status, s.reason, s.approved, s.rejected,
         analytics.amount(s.refunded), d.created_at, confirmed.at, credited.at,
         analytics.hex(s.tx_hash)
    FROM deposits.deposits d
    JOIN deposits.standings s ON s.id = d.id
    -- the one index of this text, which is dear to make
    LEFT JOIN deposits.addresses a
      ON a.clt_address = d.clt_address AND a.deposit_address = d.deposit_address
    LEFT JOIN deposits.deposit_events confirmed
      ON confirmed.deposit_id = d.id AND confirmed.event = 'DepositConfirmed'
    -- the last event: a credit that a MintVoided took back is none
    LEFT JOIN deposits.deposit_events credited
      ON credited.deposit_id = d.id AND credited.event = 'MintCredited'
     AND credited.ordinal = s.events - 1 AND s.status = 'credited'
$$;

-- The timeline of each deposit: its transfer and its events of the ledger.
CREATE FUNCTION analytics.deposit_events() RETURNS TABLE (
  deposit_id   text,          -- UUID of the deposit
  ordinal      integer,       -- 0, 1, 2, ... in the timeline
  event        text,          -- TransferObserved, or the type of the ledger's event
  at           timestamptz,   -- time of the decision; block time of a transfer
  reason       text,          -- reason of the hold, or an operator's reason
  actor        text,          -- the operator
  gross        numeric(38,6), -- USDT that arrived, or were paid back by RefundRecorded
  fee          numeric(38,6), -- USDT
  credit       numeric(38,6), -- CLT
  nonce        bigint,        -- nonce of the mint
  tx_hash      text,          -- of the CLT chain with 0x; of TRON for TransferObserved and RefundRecorded, without
  block_height bigint,        -- of the CLT chain; of TRON for TransferObserved
  topic        text,          -- topic of its record
  partition    integer,       -- partition of its record
  log_offset   bigint         -- offset of its record
) LANGUAGE sql STABLE AS $$
  SELECT deposit_id, ordinal, event, at, reason, actor, analytics.amount(gross),
         analytics.amount(fee), analytics.amount(credit), nonce,
         CASE WHEN event IN ('TransferObserved', 'RefundRecorded') THEN encode(tx_hash, 'hex')
              ELSE '0x' || encode(tx_hash, 'hex') END,
         block_height, topic, partition, log_offset
    FROM deposits.deposit_events
$$;

-- Each attempt to mint a deposit.
CREATE FUNCTION analytics.mints() RETURNS TABLE (
  deposit_id   text,          -- UUID of the deposit
  to_address   text,          -- the account that gets it
  amount       numeric(38,6), -- CLT
  nonce        bigint,        -- nonce of the mint authority
  tx_hash      text,          -- the transaction on the CLT chain
  status       text,          -- requested, credited, dead (the nonce was used otherwise), released or void
  requested_at timestamptz,   -- time of the decision
  ended_at     timestamptz,   -- when it was found credited, dead or void, or was released; null: not yet
  block_height bigint         -- height of the final block that decided it; null: none
) LANGUAGE sql STABLE AS $$
  SELECT d.id, analytics.hex(d.clt_address), analytics.amount(e.credit), e.nonce,
         CASE WHEN e.event IN ('TransferObserved', 'RefundRecorded') THEN encode(e.tx_hash, 'hex')
              ELSE '0x' || encode(e.tx_hash, 'hex') END,
         CASE coalesce(voided.event, after.event)
              WHEN 'MintCredited' THEN 'credited' WHEN 'MintDead' THEN 'dead'
              WHEN 'MintVoided' THEN 'void' WHEN 'DepositRejected' THEN 'released'
              ELSE 'requested' END,
         e.at, coalesce(voided.at, after.at),
         CASE WHEN voided.event IS NULL THEN after.block_height END
    FROM deposits.deposit_events e
    JOIN deposits.deposits d ON d.id = e.deposit_id
    LEFT JOIN deposits.deposit_events after
      ON after.deposit_id = e.deposit_id AND after.ordinal = e.ordinal + 1
    -- nothing else ends a credit
    LEFT JOIN deposits.deposit_events voided
      ON voided.deposit_id = e.deposit_id AND voided.ordinal = e.ordinal + 2
     AND voided.event = 'MintVoided' AND after.event = 'MintCredited'
   WHERE e.event = 'MintIntended'
$$;

-- The reserve runs: supply, ledger and custody compared.
CREATE FUNCTION analytics.reserve_runs() RETURNS TABLE (
  run_id             text,          -- unique id
  run_at             timestamptz,   -- when it was written
  begun_at           timestamptz,   -- the figures are at least as new; null: unknown
  status             text,          -- ok, mismatch or over_backed_drift
  block_height       bigint,        -- the final block that the figures are of
  block_hash         text,          -- hash of that block
  ledger_offset      bigint,        -- the first record of treasury.ledger that they do not know
  onchain_supply     numeric(38,6), -- CLT on the chain
  genesis_allocation numeric(38,6), -- CLT that the first block created
  treasury_minted    numeric(38,6), -- CLT minted for deposits, or acknowledged
  burned             numeric(38,6), -- CLT burned
  ledger_liability   numeric(38,6), -- USDT that the ledger owes for CLT minted and not burned
  custody_reported   numeric(38,6), -- USDT at all deposit and custody addresses
  held               numeric(38,6), -- USDT of credits that are not minted yet, rejected ones too
  minting            numeric(38,6), -- USDT, part of held: its mint is requested
  waiting            numeric(38,6), -- USDT, part of held: to be minted later, unless rejected
  uncovered          numeric(38,6), -- USDT of liability, minting and waiting: not in custody
  retained_fees      numeric(38,6), -- USDT that arrived and are credited to nobody
  booked_surplus     numeric(38,6), -- USDT in custody that an operator explained
  refunded           numeric(38,6), -- USDT of rejected deposits that were paid back
  unproven           numeric(38,6), -- USDT, part of held: TRON has not shown that it arrived
  unminted           numeric(38,6), -- USDT credited in the ledger, and minted in no final block
  unproven_refunds   numeric(38,6), -- USDT said to be paid back, and not shown by TRON
  frozen             numeric(38,6)  -- USDT in custody that the token blocks: it covers nothing
) LANGUAGE sql STABLE AS $$
  SELECT run_id, run_at, nullif(begun_at, 'epoch'), status, block_height, analytics.hex(block_hash),
         ledger_offset, analytics.total(onchain_supply), analytics.amount(genesis_allocation),
         analytics.amount(treasury_minted), analytics.amount(burned),
         analytics.amount(ledger_liability), analytics.amount(custody_reported),
         analytics.amount(held), analytics.amount(minting), analytics.amount(waiting),
         analytics.amount(uncovered), analytics.amount(retained_fees),
         analytics.amount(booked_surplus), analytics.amount(refunded),
         analytics.amount(unproven), analytics.amount(unminted),
         analytics.amount(unproven_refunds), analytics.amount(frozen)
    FROM reserve.runs
$$;

-- The requests for rides, open and closed. Times are null where the explorer is behind.
CREATE FUNCTION analytics.ride_requests() RETURNS TABLE (
  tx_hash           text,           -- hash of the request
  passenger         text,           -- who asked
  pickup_latitude   numeric(18,15), -- degrees, north positive
  pickup_longitude  numeric(18,15), -- degrees, east positive
  dropoff_latitude  numeric(18,15), -- degrees, north positive
  dropoff_longitude numeric(18,15), -- degrees, east positive
  fare              numeric(38,6),  -- CLT that the passenger offers
  referrer          text,           -- who referred the passenger; null: nobody
  status            text,           -- open, accepted or cancelled
  offer_hash        text,           -- the offer that was accepted; null: none
  block_height      bigint,         -- height of the block of the request
  requested_at      timestamptz,    -- time of that block
  closed_at         timestamptz     -- time of the block of the acceptance or cancellation
) LANGUAGE sql STABLE AS $$
  SELECT analytics.hex(r.hash), analytics.hex(r.passenger), r.pickup_lat::numeric,
         r.pickup_lng::numeric, r.dropoff_lat::numeric, r.dropoff_lng::numeric,
         analytics.amount(r.fare), analytics.hex(r.referrer), r.status,
         analytics.hex(r.offer_hash), r.height, begun.timestamp, closed.timestamp
    FROM (SELECT hash, passenger, pickup_lat, pickup_lng, dropoff_lat, dropoff_lng, fare, referrer,
                 height, offer_hash, closed_height,
                 CASE WHEN offer_hash IS NULL THEN 'cancelled' ELSE 'accepted' END AS status
            FROM ride_market.closed_requests
           UNION ALL
          SELECT hash, passenger, pickup_lat, pickup_lng, dropoff_lat, dropoff_lng, fare, referrer,
                 height, NULL, NULL, 'open'
            FROM ride_market.open_requests) r
    LEFT JOIN explorer.blocks begun ON begun.height = r.height
    LEFT JOIN explorer.blocks closed ON closed.height = r.closed_height
$$;

-- The offers of drivers, made while their request was open.
CREATE FUNCTION analytics.ride_offers() RETURNS TABLE (
  tx_hash      text,          -- hash of the offer
  request_hash text,          -- hash of the request
  driver       text,          -- who offers
  fare         numeric(38,6), -- CLT that the driver asks for
  referrer     text,          -- who referred the driver; null: nobody
  status       text,          -- open, accepted, or closed with its request
  block_height bigint,        -- height of the block of the offer
  offered_at   timestamptz    -- time of that block
) LANGUAGE sql STABLE AS $$
  SELECT analytics.hex(o.hash), analytics.hex(o.request_hash), analytics.hex(o.driver),
         analytics.amount(o.fare), analytics.hex(o.referrer),
         CASE WHEN c.hash IS NULL THEN 'open' WHEN c.offer_hash = o.hash THEN 'accepted'
              ELSE 'closed' END,
         o.height, b.timestamp
    FROM ride_market.offers o
    LEFT JOIN ride_market.closed_requests c ON c.hash = o.request_hash
    LEFT JOIN explorer.blocks b ON b.height = o.height
$$;

-- The accepted rides, active and ended.
CREATE FUNCTION analytics.ride_trips() RETURNS TABLE (
  tx_hash           text,           -- hash of the acceptance
  request_hash      text,           -- hash of the request
  offer_hash        text,           -- hash of the accepted offer
  passenger         text,           -- who rides
  driver            text,           -- who drives
  pickup_latitude   numeric(18,15), -- degrees, north positive
  pickup_longitude  numeric(18,15), -- degrees, east positive
  dropoff_latitude  numeric(18,15), -- degrees, north positive
  dropoff_longitude numeric(18,15), -- degrees, east positive
  fare              numeric(38,6),  -- CLT of the accepted offer
  fare_paid         numeric(38,6),  -- CLT taken out of escrow by payments
  status            text,           -- active, completed or cancelled
  block_height      bigint,         -- height of the block of the acceptance
  accepted_at       timestamptz,    -- time of that block
  ended_at          timestamptz     -- time of the block of the last payment or cancellation
) LANGUAGE sql STABLE AS $$
  SELECT analytics.hex(t.hash), analytics.hex(t.request_hash), analytics.hex(t.offer_hash),
         analytics.hex(t.passenger), analytics.hex(t.driver), t.pickup_lat::numeric,
         t.pickup_lng::numeric, t.dropoff_lat::numeric, t.dropoff_lng::numeric,
         analytics.amount(t.fare), analytics.amount(t.fare_paid), t.status, t.height,
         begun.timestamp, ended.timestamp
    FROM (SELECT hash, request_hash, offer_hash, passenger, driver, pickup_lat, pickup_lng,
                 dropoff_lat, dropoff_lng, fare, fare_paid, height, trip_status AS status,
                 ended_height
            FROM ride_market.ended_trips
           UNION ALL
          SELECT hash, request_hash, offer_hash, passenger, driver, pickup_lat, pickup_lng,
                 dropoff_lat, dropoff_lng, fare, fare_paid, height, 'active', NULL
            FROM ride_market.active_trips) t
    LEFT JOIN explorer.blocks begun ON begun.height = t.height
    LEFT JOIN explorer.blocks ended ON ended.height = t.ended_height
$$;

-- The payments of rides out of escrow. Times are null where the explorer is behind.
CREATE FUNCTION analytics.ride_payments() RETURNS TABLE (
  tx_hash      text,          -- hash of the payment
  passenger    text,          -- who signed it
  driver       text,          -- whose trip it pays
  amount       numeric(38,6), -- CLT taken out of escrow
  block_height bigint,        -- height of the block
  paid_at      timestamptz,   -- time of that block
  trip_hash    text           -- hash of the acceptance
) LANGUAGE sql STABLE AS $$
  SELECT analytics.hex(p.hash), analytics.hex(t.passenger), analytics.hex(t.driver),
         analytics.amount(p.amount), p.height, b.timestamp, analytics.hex(p.trip_hash)
    FROM ride_market.payments p
    JOIN (SELECT hash, passenger, driver FROM ride_market.ended_trips
           UNION ALL
          SELECT hash, passenger, driver FROM ride_market.active_trips) t ON t.hash = p.trip_hash
    LEFT JOIN explorer.blocks b ON b.height = p.height
$$;

-- The figures of each hour, for series over time. An hour without a block is not among them.
CREATE FUNCTION analytics.chain_hours() RETURNS TABLE (
  begins_at       timestamptz,   -- beginning of the hour
  blocks          bigint,        -- number of blocks
  transactions    bigint,        -- number of transactions
  fees            numeric(38,6), -- CLT that producers earned in fees
  rides           bigint,        -- number of trips that began
  fares           numeric(38,6), -- CLT that payments of trips took out of escrow
  active_accounts bigint,        -- number of accounts with a transaction from or to them
  supply          numeric(38,6), -- CLT that exist at the end of the hour
  is_final        boolean        -- true: no event can change the row
) LANGUAGE sql STABLE AS $$
  SELECT to_timestamp(hour * 3600), blocks, transactions, analytics.amount(fees), rides,
         analytics.amount(fares), active_accounts, analytics.total(supply),
         last_height < (SELECT finalized_height FROM series.head)
    FROM series.hours
$$;

-- The figures of each day in UTC, for series over time. A day without a block is not among them.
CREATE FUNCTION analytics.chain_days() RETURNS TABLE (
  day             date,          -- in UTC
  blocks          bigint,        -- number of blocks
  transactions    bigint,        -- number of transactions
  fees            numeric(38,6), -- CLT that producers earned in fees
  rides           bigint,        -- number of trips that began
  fares           numeric(38,6), -- CLT that payments of trips took out of escrow
  active_accounts bigint,        -- number of accounts with a transaction from or to them, each once
  supply          numeric(38,6), -- CLT that exist at the end of the day
  is_final        boolean        -- true: no event can change the row
) LANGUAGE sql STABLE AS $$
  SELECT date '1970-01-01' + s.day::integer, s.blocks, s.transactions, analytics.amount(s.fees),
         s.rides, analytics.amount(s.fares), coalesce(d.active_accounts, 0),
         analytics.total(s.supply), s.last_height < (SELECT finalized_height FROM series.head)
    FROM (SELECT hour / 24 AS day, sum(blocks)::bigint AS blocks,
                 sum(transactions)::bigint AS transactions, sum(fees) AS fees,
                 sum(rides)::bigint AS rides, sum(fares) AS fares,
                 (array_agg(supply ORDER BY hour DESC))[1] AS supply,
                 max(last_height) AS last_height
            FROM series.hours GROUP BY hour / 24) s
    LEFT JOIN series.days d ON d.day = s.day
$$;

-- The blocks of each validator in each hour.
CREATE FUNCTION analytics.validator_hours() RETURNS TABLE (
  begins_at timestamptz, -- beginning of the hour
  address   text,        -- the validator
  blocks    bigint       -- number of its blocks in that hour
) LANGUAGE sql STABLE AS $$
  SELECT to_timestamp(hour * 3600), analytics.hex(address), blocks FROM series.producers
$$;
