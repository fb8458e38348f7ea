"""Totals from the log: USDT that arrived by day, accepted rides by hour, the supply of CLT.

Reads the topics with confluent-kafka. With an argument "-" it reads standard input, as kcat writes
it with -f '%t %p %o %S\\n%s'. The values are decoded with fastavro, by the schema of the registry.
"""

import collections
import decimal
import io
import json
import os
import struct
import sys
import urllib.request

import fastavro

BROKERS = os.environ.get("APP_KAFKA_BROKERS", "127.0.0.1:19092")
REGISTRY = os.environ.get("APP_REGISTRY_URL", "http://127.0.0.1:18081/apis/ccompat/v7")
TOPICS = ["chain.blocks", "treasury.ledger"]
UNITS = 1_000_000  # of a CLT or USDT

decimal.getcontext().prec = 78
schemas = {}


def decode(value):
    """The type of the event, and its fields: amounts are Decimal, hashes bytes, times datetime."""
    zero, schema_id = struct.unpack(">bI", value[:5])
    if zero != 0:
        raise ValueError("not Avro in the wire format of Confluent")
    if schema_id not in schemas:
        with urllib.request.urlopen(f"{REGISTRY}/schemas/ids/{schema_id}") as answer:
            schemas[schema_id] = fastavro.parse_schema(json.loads(json.load(answer)["schema"]))
    schema = schemas[schema_id]
    return schema["name"].split(".")[-1], fastavro.schemaless_reader(io.BytesIO(value[5:]), schema)


def from_kafka():
    """Every record from offset 0 to the present end, in the order of its partition."""
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer(
        {"bootstrap.servers": BROKERS, "group.id": "totals", "enable.auto.commit": False}
    )
    for topic in TOPICS:
        for partition in consumer.list_topics(topic, 30).topics[topic].partitions:
            place = TopicPartition(topic, partition, 0)
            _, end = consumer.get_watermark_offsets(place, 30)
            consumer.assign([place])
            offset = -1
            while offset < end - 1:
                record = consumer.poll(30)
                if record is None or record.error():
                    sys.exit(f"{topic} ends before {end}: {record and record.error()}")
                offset = record.offset()
                yield topic, offset, record.value()
    consumer.close()


def from_kcat(stream):
    while header := stream.readline():
        topic, _, offset, size = header.decode().split()
        yield topic, int(offset), stream.read(int(size))


def counting(records):
    """Without records that were written for another offset, and without reverted blocks."""
    kept, blocks = [], []
    for topic, offset, value in records:
        kind, event = decode(value)
        if event.get("sequence", -1) not in (-1, offset):
            continue
        if kind == "BlockReverted":
            kept[blocks.pop()] = None
            continue
        if kind == "BlockAppended":
            blocks.append(len(kept))
        kept.append((kind, event))
    return filter(None, kept)


usdt, rides, supply = collections.Counter(), collections.Counter(), 0
for kind, event in counting(from_kcat(sys.stdin.buffer) if "-" in sys.argv else from_kafka()):
    if kind == "DepositConfirmed":
        usdt[f"{event['block_timestamp']:%Y-%m-%d}"] += event["gross"]
    if kind == "BlockAppended":
        calls = [each["function_call_type"] for each in event["transactions"]]
        rides[f"{event['timestamp']:%Y-%m-%d %H:00}"] += calls.count("RideAcceptance")
        supply += sum(effect["delta"] for effect in event["balance_effects"])

for day in sorted(usdt):
    print(f"usdt,{day},{usdt[day] / UNITS:.6f}")
for hour in sorted(hour for hour in rides if rides[hour] > 0):
    print(f"rides,{hour},{rides[hour]}")
print(f"supply,,{supply / UNITS:.6f}")
