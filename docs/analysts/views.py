"""The supply by the view analytics.balance_effects, read by one tool after the other, to the last unit.

    python views.py postgres://clt_analyst:clt_analyst@127.0.0.1:15432/clt
"""

import decimal
import sys

import adbc_driver_postgresql.dbapi as adbc
import connectorx
import duckdb
import duckdb_ext
import pandas
import polars
import pyarrow
import pyarrow.compute
import sqlalchemy

# what Decimal keeps of a sum; 28 digits by default
decimal.getcontext().prec = 78

DELTAS = "SELECT delta FROM analytics.balance_effects"
AMOUNT = pyarrow.decimal128(38, 6)


def duckdb_with(url):
    # the package has the extension in a file; elsewhere `INSTALL postgres` brings it
    folder = f"{list(duckdb_ext.__path__)[0]}/extensions"
    db = duckdb.connect(config={"extension_directory": folder})
    db.execute("LOAD postgres")
    db.execute(f"ATTACH '{url}' AS clt (TYPE postgres, READ_ONLY, SCHEMA 'analytics')")
    return db


def by_duckdb(url):
    query = "SELECT sum(delta) FROM clt.analytics.balance_effects"
    return duckdb_with(url).execute(query).fetchone()[0]


def by_duckdb_in_postgres(url):
    # a sum that Postgres makes states no precision: without the cast it would be a DOUBLE
    query = "SELECT sum(delta)::numeric(38,6) FROM analytics.balance_effects"
    answer = duckdb_with(url).execute("SELECT * FROM postgres_query('clt', ?)", [query])
    return answer.fetchone()[0]


def engine(url):
    return sqlalchemy.create_engine(url.replace("postgres://", "postgresql+psycopg://", 1))


def by_pandas(url):
    # with coerce_float, the default, amounts are float64
    return pandas.read_sql(DELTAS, engine(url), coerce_float=False)["delta"].sum()


def by_polars(url):
    return polars.read_database(DELTAS, engine(url))["delta"].sum()


def by_polars_with_connectorx(url):
    return polars.read_database_uri(DELTAS, url)["delta"].sum()


def by_polars_with_adbc(url):
    # ADBC gives numeric as text
    text = polars.read_database_uri(DELTAS, url, engine="adbc")["delta"].ext.storage()
    return text.str.to_decimal(scale=6).sum()


def by_adbc(url):
    with adbc.connect(url) as connection, connection.cursor() as cursor:
        cursor.execute(DELTAS)
        deltas = cursor.fetch_arrow_table()["delta"].cast(AMOUNT)
    return pyarrow.compute.sum(deltas).as_py()


def by_connectorx(url):
    # to pandas it makes every numeric a float64; as text it is exact
    query = "SELECT delta::text AS delta FROM analytics.balance_effects"
    return sum(map(decimal.Decimal, connectorx.read_sql(url, query)["delta"]))


def by_connectorx_to_arrow(url):
    # Decimal(38, 10), of at most 28 digits
    deltas = connectorx.read_sql(url, DELTAS, return_type="arrow")["delta"]
    return pyarrow.compute.sum(deltas).as_py()


for read in [
    by_duckdb,
    by_duckdb_in_postgres,
    by_pandas,
    by_polars,
    by_polars_with_connectorx,
    by_polars_with_adbc,
    by_adbc,
    by_connectorx,
    by_connectorx_to_arrow,
]:
    print("supply", read.__name__.removeprefix("by_"), f"{read(sys.argv[1]):.6f}", sep=",")
