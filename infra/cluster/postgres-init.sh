# Runs once, when the image has made the data of the primary.
psql -v ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" -f /secrets/replicator.sql
