import assert from 'node:assert/strict';
import { getOperationAST, Kind, parse, print, validate } from 'graphql';
import { Documents, textOf } from '../../../services/hub-gateway/graphql/documents.ts';
import { hubSchema } from '../../../services/hub-gateway/graphql/schema.ts';

export const about = 'documents of the hub: valid, or errors with a code; the limits hold';

const schema = hubSchema();

export const seeds = [
  '{ chainInfo { txFee totalSupply } }',
  'query A($l: Int = 5, $b: MapBoundsInput) { listRideRequests(limit: $l, bounds: $b) { txHash pickupLocation { latitude } } }',
  'subscription { rideRequestsUpdated(limit: 1) { txHash ...f } } fragment f on RideRequest { fare }',
  'mutation { createUnsignedBurn(amount: "1") }',
  '{ a: chainInfo { ...on ChainInfo @include(if: true) { chainId } } b: __typename }',
  '{ __schema { types { name fields { name type { ofType { name } } } } } }',
  'fragment a on Query { ...b } fragment b on Query { ...a } { ...a }',
  'query($v:String!){ride(txHash:$v){status steps{step}}}',
  '{ ride(txHash: """block\n string \\""" """) { status } } # note',
];
export const words = [
  ...Object.values(schema.getTypeMap()).map(({ name }) => name),
  ...[schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()].flatMap(
    (type) => Object.keys(type?.getFields() ?? {}),
  ),
  ...'query mutation subscription fragment on ... @skip(if:true) @include(if:$v) $v: [ ] { } ! = """ \\u{1F600}'.split(
    ' ',
  ),
];

/** As deep as the hub allows, counted another way: by the braces of the printed operation. */
function depthOf(text: string): number {
  let [depth, most] = [0, 0];
  for (const sign of text.replaceAll(/"(?:[^"\\]|\\.)*"|\([^()]*\)/g, '')) {
    if (sign === '{') most = Math.max(most, ++depth);
    if (sign === '}') depth--;
  }
  return most;
}

export function fuzz(bytes: Buffer): void {
  const text = bytes.toString();
  // a cache would hide what a document costs
  const documents = new Documents(schema, false);
  const read = documents.read(text);
  if (!('kind' in read)) {
    assert.ok(read.length > 0 && read.length <= 11);
    for (const { extensions, message } of read) {
      assert.match(String(extensions['code']), /^GRAPHQL_(?:PARSE|VALIDATION)_FAILED$/);
      assert.ok(message !== '');
    }
    return;
  }
  assert.equal(documents.read(text), read, 'a valid document is cached');
  assert.deepEqual(validate(schema, read), []);
  assert.doesNotMatch(print(read), /__schema|__type\b/, 'introspection is off');
  for (const operation of read.definitions) {
    if (operation.kind !== Kind.OPERATION_DEFINITION) continue;
    const one = textOf(read, operation);
    assert.ok(depthOf(one) <= 20 + read.definitions.length * 20);
    const again = parse(one);
    const found = getOperationAST(again);
    assert.ok(found);
    assert.equal(textOf(again, found), one);
  }
}
